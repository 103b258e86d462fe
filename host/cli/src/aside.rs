//! A second process of this program, which looks at what may hang.
//!
//! A thread that waits in the kernel for a file system keeps its whole process from ending,
//! and from running another program. So what must go on in any case lets a second process
//! look first, and leaves that one behind if it hangs. On Windows a process always ends, so
//! there is no second one.

use std::{
    env,
    io::{self, IsTerminal as _},
};
#[cfg(unix)]
use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The variable that tells the second process what it is.
const ASIDE: &str = "KEYHOLE_ASIDE";

/// What it says if the first one prints on a terminal.
const TERMINAL: &str = "terminal";

/// Whether this is the second process.
pub(crate) fn is_here() -> bool {
    cfg!(unix) && env::var_os(ASIDE).is_some()
}

/// Whether what is printed goes to a terminal, also if the first process prints it.
pub(crate) fn is_for_a_terminal() -> bool {
    match is_here() {
        true => env::var_os(ASIDE).is_some_and(|value| value == TERMINAL),
        false => io::stdout().is_terminal(),
    }
}

/// What this program, with the same arguments, tells from a second process. None if it ended
/// without a word, or cannot be started.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "this program, before it serves anybody"
)]
pub(crate) fn ask() -> Option<Vec<u8>> {
    let (mut here, there) = UnixStream::pair().ok()?;
    let mut again = Command::new(match cfg!(target_os = "linux") {
        true => "/proc/self/exe".into(),
        false => env::current_exe().ok()?,
    });
    let mut arguments = env::args_os();
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    again
        .args(arguments)
        .env(ASIDE, if is_for_a_terminal() { TERMINAL } else { "" })
        .stdin(OwnedFd::from(there))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut second = again.spawn().ok()?;
    // This has the other end of the stream.
    drop(again);
    let mut told = Vec::new();
    here.read_to_end(&mut told).ok()?;
    // It ends at once now, or hangs: then nobody waits for its end.
    for _ in 0..100 {
        match second.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            _ => break,
        }
    }
    (!told.is_empty()).then_some(told)
}

/// Tells the process that asks.
///
/// # Errors
/// Those of the stream.
#[cfg(unix)]
pub(crate) fn tell(what: &[u8]) -> io::Result<()> {
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    stream.write_all(what)?;
    // A thread that hangs keeps the stream open.
    stream.shutdown(Shutdown::Both)
}

#[cfg(windows)]
pub(crate) fn ask() -> Option<Vec<u8>> {
    None
}

#[cfg(windows)]
pub(crate) fn tell(_: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
