//! What a process gives up before it reads anything.
#![expect(unsafe_code, reason = "it closes descriptors by their numbers")]

use nix::{
    sys::signal::{SigSet, Signal},
    unistd::alarm,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::{fs, io};

/// Closes every descriptor but 0, 1 and 2, so that code in this process cannot use what the client
/// left open. Call this first of all. Linux from 5.9 on closes them by one call. Older Linux and
/// other systems list them in `/dev/fd`, and this closes one by one.
///
/// # Errors
/// If there is no such call, and `/dev/fd` cannot be read.
pub fn close_inherited() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `main` calls this first, so nothing in this process owns a descriptor
        // above 2 yet.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        if closed == 0 {
            return Ok(());
        }
        // The kernel is older than 5.9.
    }
    #[expect(clippy::disallowed_methods, reason = "this process's own descriptors")]
    let open: Vec<libc::c_int> = fs::read_dir("/dev/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // SAFETY: as above. The descriptor with which the list was read is closed already,
        // and closing it again does nothing.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

/// From now on, this process leaves no core file when it crashes: its memory may hold a map and a
/// file. On Linux, no other process of the same user can read its memory either, and the kernel
/// hands no core to a program that collects them.
///
/// # Errors
/// What the system reports.
pub fn hide_memory() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Lets SIGTERM, SIGINT and SIGALRM reach this process, even if its parent has blocked them. And
/// blocks SIGXFSZ: so a write beyond the limit of a file's size (`ulimit -f`) fails, and does not
/// end the process.
///
/// # Errors
/// What the system reports.
pub fn set_signals() -> io::Result<()> {
    let ends = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGALRM]);
    ends.thread_unblock()?;
    Ok(SigSet::from(Signal::SIGXFSZ).thread_block()?)
}

/// Has SIGALRM end this process after so many seconds, even if it then waits for a file system that
/// hangs. That needs no thread of the process, so it works before the wall and behind the wall.
pub fn end_after(seconds: u32) {
    alarm::set(seconds);
}
