//! A terminal that a test reads.

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    },
    process::Command,
};

/// What a terminal shows, and its other end, for a program. No other process inherits either.
/// Ctrl-C takes away nothing that was not shown yet: a program may have answered it already.
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
    let mut modes = tcgetattr(&shown).expect("a terminal");
    modes.local_modes.insert(LocalModes::NOFLSH);
    tcsetattr(&shown, OptionalActions::Now, &modes).expect("a terminal");
    // SAFETY: it is new, and nobody else's.
    (shown, unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Lets a program read all lines at once that are there.
pub(crate) fn give_all(terminal: &File) {
    let mut modes = tcgetattr(terminal).expect("a terminal");
    modes.local_modes.remove(LocalModes::ICANON);
    tcsetattr(terminal, OptionalActions::Now, &modes).expect("a terminal");
}

/// Gives the command this terminal as its own, on all three streams.
pub(crate) fn control(command: &mut Command, terminal: &OwnedFd) {
    let copy = || terminal.try_clone().expect("a descriptor");
    command.stdin(copy()).stdout(copy()).stderr(copy());
    let is_done = |returned| match returned {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    };
    let make_own = move || {
        // SAFETY: a system call without arguments.
        is_done(unsafe { libc::setsid() })?;
        // SAFETY: a system call, on a number.
        is_done(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) })
    };
    // SAFETY: it allocates nothing.
    unsafe { command.pre_exec(make_own) };
}
