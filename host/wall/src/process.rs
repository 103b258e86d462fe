//! What a process gives up before it reads anything.
#![expect(unsafe_code, reason = "it closes descriptors by their numbers")]

use nix::{
    sys::signal::{SigSet, Signal},
    unistd::alarm,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::{fs, io};

/// Closes every descriptor but 0, 1 and 2: whatever the client left open, code in this
/// process cannot use it. Call this first of all.
///
/// # Errors
/// If the system does not close them by one call (Linux from 5.9 on does), and its list of what is
/// open, `/dev/fd`, cannot be read.
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

/// Leaves no core file, whatever happens to this process: its memory may hold a map and a
/// file. On Linux, no other process of the same user can read its memory either, and no
/// program gets it to which the kernel hands core files.
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

/// Lets SIGTERM, SIGINT and SIGALRM reach this process: a program inherits what its parent blocks.
/// A write beyond the limit of a file's size (`ulimit -f`) fails, and ends nothing.
pub fn set_signals() -> io::Result<()> {
    let ends = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGALRM]);
    ends.thread_unblock()?;
    Ok(SigSet::from(Signal::SIGXFSZ).thread_block()?)
}

/// Has SIGALRM end this process after so many seconds, unless it has ended, whatever it waits for
/// then: also a file system that hangs. It needs no thread, so it holds before the wall and behind
/// it.
pub fn end_after(seconds: u32) {
    alarm::set(seconds);
}
