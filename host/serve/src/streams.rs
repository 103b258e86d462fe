//! The standard streams, as a client leaves them.
//!
//! A client may have made a stream not blocking: it then answers "not now" where others wait.
//! That flag belongs to everybody who has the stream open, so we leave it as it is, and wait
//! until the stream is ready.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    thread,
    time::Duration,
};

/// A standard stream that waits, whether it blocks or not.
pub struct Waiting<S>(pub S);

/// Writes these bytes to standard output, which may not block.
///
/// # Errors
/// If it is closed, or cannot be written.
pub fn put(bytes: &[u8]) -> io::Result<()> {
    Waiting(io::stdout()).write_all(bytes)
}

/// Prints `text` on standard output. If its reader, such as `head`, has seen enough, that is fine.
pub fn print(text: &str) -> Result<(), String> {
    match put(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {why}")),
        _ => Ok(()),
    }
}

/// Tells the user on standard error. If that is closed, nobody is left to tell.
pub fn say(message: &str) {
    let _ = writeln!(Waiting(io::stderr()), "keyhole: {message}");
}

/// Writes a line to standard error if that takes it at once: neither a call nor a start may wait. A
/// pipe that is ready takes 4,096 bytes, more than all threads write at a time.
pub fn note(line: &str) {
    let stderr = io::stderr();
    let mut polled = [PollFd::new(&stderr, PollFlags::OUT)];
    let is_told = poll(&mut polled, Some(&Timespec::default())).is_ok();
    if is_told && polled[0].revents().contains(PollFlags::OUT) {
        let _ = (&stderr).write_all(format!("{line}\n").as_bytes());
    }
}

/// Tells the user, as [`note`] does.
pub fn tell(message: &str) {
    note(&format!("keyhole: {message}"));
}

/// Does it again each time that the stream is ready or has ended, as long as it says "not now".
fn again<S: AsFd, T>(
    stream: &mut S,
    ready: PollFlags,
    mut attempt: impl FnMut(&mut S) -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match attempt(stream) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        let mut polled = [PollFd::new(stream, ready)];
        let is_told = poll(&mut polled, None).is_ok();
        // Some systems cannot say it of every device.
        if !is_told || polled[0].revents() == PollFlags::NVAL {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Read for Waiting<io::Stdin> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        again(&mut self.0, PollFlags::IN, |stream| stream.read(bytes))
    }
}

/// What a stream did not take, it keeps, or it was not told of it.
impl<S: Write + AsFd> Write for Waiting<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = again(&mut self.0, PollFlags::OUT, |stream| stream.write(bytes))?;
        // Standard output keeps a part of what a stream did not take.
        self.flush().map(|()| size)
    }

    fn flush(&mut self) -> io::Result<()> {
        again(&mut self.0, PollFlags::OUT, S::flush)
    }
}
