//! Little address space: how the server lives with `ulimit -v`.

use rustix::process::{Resource, getrlimit};
use std::{env, os::unix::process::CommandExt as _, process::Command};

/// glibc's own setting for this; whoever has set it has decided.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Starts this program anew, with one arena for all threads, where its address
/// space is limited.
///
/// glibc reserves an arena of 64 MiB for every thread that allocates. With a
/// thread for each call that is more than `ulimit -v 500000` leaves, and when
/// nothing is left, calls fail and in the end the server does. It reads the
/// setting only at the start of a program, hence the new start, which keeps the
/// process, its streams and its arguments. Without a limit nothing is done: with
/// an arena each, threads do not wait for each other.
pub(crate) fn spare_address_space() {
    let limited = getrlimit(Resource::As).current.is_some();
    if !cfg!(target_env = "gnu") || !limited || env::var_os(ARENAS).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    // It returns only where it fails. Then the server has to do with what it has.
    let _ = again.args(arguments).env(ARENAS, "1").exec();
}
