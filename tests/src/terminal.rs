//! The program on a terminal that a test reads.

use crate::{PATIENCE, World};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    },
    process::Command,
    sync::mpsc,
    thread,
};

impl World {
    /// Runs the program on a terminal of its own, and gives each answer when its question is
    /// there. Returns what the terminal showed, and the exit status.
    pub fn asked<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        answers: &[(&str, &str)],
    ) -> (String, Option<i32>) {
        let mut left = answers.iter().peekable();
        let ended = self.on_terminal(arguments, |shown| {
            let next = left.next_if(|(question, _)| shown.contains(question));
            next.map(|(_, answer)| *answer)
        });
        assert_eq!(left.next(), None, "not asked: {}", ended.0);
        ended
    }

    /// The same, with a yes to each question that takes one.
    pub fn agreed<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> (String, Option<i32>) {
        self.on_terminal(arguments, |shown| shown.contains("[y/N] ").then_some("y"))
    }

    /// The same; `answer` gets what the terminal has shown since the last answer. One that ends
    /// with Ctrl-C or Ctrl-D gets no line end, and `ÿ` is a byte that is no text.
    pub fn on_terminal<'a, A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        mut answer: impl FnMut(&str) -> Option<&'a str>,
    ) -> (String, Option<i32>) {
        let (mut screen, terminal) = open();
        let mut command = self.command(arguments);
        control(&mut command, &terminal);
        let mut run = command.spawn().expect("it starts");
        // Its end of the terminal.
        drop((command, terminal));
        let mut keyboard = screen.try_clone().expect("a descriptor");
        let (to, parts) = mpsc::channel();
        thread::spawn(move || {
            let mut part = [0; 4096];
            // When nobody has the other end any more, a read fails.
            while let Ok(length @ 1..) = screen.read(&mut part) {
                let _ = to.send(part[..length].to_vec());
            }
        });
        let (mut shown, mut seen) = (Vec::new(), 0);
        let text = |shown: &[u8]| String::from_utf8_lossy(shown).into_owned();
        loop {
            if let Some(answer) = answer(&text(&shown[seen..])) {
                seen = shown.len();
                if answer.contains('\n') {
                    give_all(&keyboard);
                }
                let is_whole = answer.ends_with(['\x03', '\x04']);
                let end = if is_whole { "" } else { "\n" };
                let typed = format!("{answer}{end}");
                let typed: Vec<_> = typed.split('ÿ').map(str::as_bytes).collect();
                let typed = keyboard.write_all(&typed.join(&0xff));
                typed.expect("a terminal");
                continue;
            }
            match parts.recv_timeout(PATIENCE) {
                Ok(part) => shown.extend(part),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = (run.kill(), run.wait());
                    panic!("neither asked nor ended: {}", text(&shown));
                }
            }
        }
        let status = run.wait().expect("it ends");
        let shown = text(&shown).replace("\r\n", "\n");
        (shown.replace(self.home_in_utf8(), "HOME"), status.code())
    }
}

/// What a terminal shows, and its other end, for a program. No other process inherits either.
/// Ctrl-C takes away nothing that was not shown yet.
fn open() -> (File, OwnedFd) {
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
fn give_all(terminal: &File) {
    let mut modes = tcgetattr(terminal).expect("a terminal");
    modes.local_modes.remove(LocalModes::ICANON);
    tcsetattr(terminal, OptionalActions::Now, &modes).expect("a terminal");
}

/// Gives the command this terminal as its own, on all three streams.
fn control(command: &mut Command, terminal: &OwnedFd) {
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
