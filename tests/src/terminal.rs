//! A terminal that a test reads.

use std::{
    fs::File,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
};

/// What a terminal shows, and its other end, for a program. No other process inherits either.
pub(crate) fn open() -> (File, OwnedFd) {
    let mut options = File::options();
    let options = options.read(true).write(true).custom_flags(libc::O_NOCTTY);
    let shown = options.open("/dev/ptmx").expect("a terminal");
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: it reads one number.
    let unlocked = unsafe { libc::ioctl(shown.as_raw_fd(), libc::TIOCSPTLCK, &0) };
    assert_eq!(unlocked, 0, "the terminal is ours");
    // SAFETY: it only makes a descriptor.
    let opened = unsafe { libc::ioctl(shown.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    assert!(opened >= 0, "it has another end");
    // SAFETY: it is new, and nobody else's.
    (shown, unsafe { OwnedFd::from_raw_fd(opened) })
}
