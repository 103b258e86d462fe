//! How the server works with little address space (`ulimit -v`).

use rustix::process::{Resource, getrlimit};
use std::{env, os::unix::process::CommandExt as _, process::Command};

/// glibc's own setting for this. If the user has set it, we do not change it.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Restarts this program with one arena for all threads, if its address space is
/// limited.
///
/// glibc reserves an arena of 64 MiB for every thread that allocates. With a
/// thread for each call, this is more than `ulimit -v 500000` leaves. When no
/// address space is left, calls fail, and in the end the server fails. glibc reads
/// the setting only at the start of a program. So we restart the program, which
/// keeps the process, its streams and its arguments. Without a limit, this function
/// does nothing: with an arena each, threads do not wait for each other.
pub(crate) fn limit_arenas() {
    let limited = getrlimit(Resource::As).current.is_some();
    if !cfg!(target_env = "gnu") || !limited || env::var_os(ARENAS).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    // `exec` returns only if it fails. Then the server goes on with the arenas that
    // it has.
    let _ = again.args(arguments).env(ARENAS, "1").exec();
}
