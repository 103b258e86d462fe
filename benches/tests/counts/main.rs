//! What calls and starts cost in things that can be counted. Unlike times, they hardly
//! vary from run to run or from machine to machine. So a test can notice if something
//! costs more. CI's `./x bench --short` runs all of them.
//!
//! - `limits`: all numbers
//! - `crates`: what the program is made of
//! - `fuel`: the guest's instructions, and those of the host's escape
//! - `inside`: calls inside this process
//! - `linux`: the real server, from outside
//! - `procfs`: what Linux has counted
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod crates;
mod fuel;
mod inside;
mod limits;
#[cfg(target_os = "linux")]
mod procfs;

/// Only Linux shows another program's system calls and page faults, and only for these
/// processors do we know how.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    mod calls;
    mod instructions;
    mod server;
    mod starts;
    mod trace;
}

const SMALL: u64 = 1 << 10;
const LARGE: u64 = 1 << 20;

/// Says that a test cannot run here, and why. The test harness does not hide this.
#[cfg(target_os = "linux")]
fn skipped(test: &str, why: impl std::fmt::Display) {
    let line = format!("skipped: {test} ({why})\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
}
