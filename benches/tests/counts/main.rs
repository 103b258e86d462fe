//! What a call costs in things that can be counted: the same on every machine with such a file
//! system, however busy it is. The most that each may be stands beside what it was when the
//! limit was set. If a change makes something cheaper, lower its limit, so that the gain is kept.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod allocations;
// Only Linux shows another program's system calls, and only for these processors do we
// know how.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod calls;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod trace;

use keyhole_benches::files::Files;
use std::sync::LazyLock;

/// The second folder of files lies this much deeper, by four directories.
const DEEPER: &str = "a/b/c/d/";

/// The files, at rest, in two folders. So a call opens them at once, however busy the machine is.
static FILES: LazyLock<[Files; 2]> =
    LazyLock::new(|| ["", DEEPER].map(Files::beneath).map(Files::at_rest));
