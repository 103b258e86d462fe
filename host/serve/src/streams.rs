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
///
/// # Errors
/// If it cannot be written: a sentence for the user.
pub fn print(text: &str) -> Result<(), String> {
    match put(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {why}")),
        _ => Ok(()),
    }
}

/// Tells the user on standard error, and waits until the message is written. If standard error is
/// closed, nobody is left to tell.
pub fn say(message: &str) {
    let _ = writeln!(Waiting(io::stderr()), "keyhole: {message}");
}

/// Tells the user on standard error, if the message can be written at once: neither a call nor a
/// start may wait. A pipe that is ready takes 4,096 bytes, more than all threads write at a time.
pub(crate) fn tell(message: &str) {
    let stderr = io::stderr();
    let no_time = Timespec::default();
    let happened = wait_for(&stderr, PollFlags::OUT, Some(&no_time));
    if happened.is_some_and(|events| events.contains(PollFlags::OUT)) {
        let _ = (&stderr).write_all(format!("keyhole: {message}\n").as_bytes());
    }
}

/// What the `attempt` to read or write returns, which is made again as long as the stream says "not
/// now" (`WouldBlock`). Any other error is returned at once. Between two attempts, waits until the
/// stream is `ready` or has ended; or for 5 ms, if the system cannot say that of this stream.
fn when_ready<S: AsFd, T>(
    stream: &mut S,
    ready: PollFlags,
    mut attempt: impl FnMut(&mut S) -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match attempt(stream) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done_or_failed => return done_or_failed,
        }
        // Some systems cannot say of every device whether it is ready.
        let happened = wait_for(stream, ready, None);
        if happened.is_none_or(|events| events == PollFlags::NVAL) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits for one of these events at the stream, `longest` or, with None, without end. Returns the
/// events that have happened: none of them if the time is over. None if the system cannot say.
fn wait_for(
    stream: &impl AsFd,
    events: PollFlags,
    longest: Option<&Timespec>,
) -> Option<PollFlags> {
    let mut polled = [PollFd::new(stream, events)];
    poll(&mut polled, longest).ok()?;
    Some(polled[0].revents())
}

impl Read for Waiting<io::Stdin> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        when_ready(&mut self.0, PollFlags::IN, |stream| stream.read(bytes))
    }
}

/// Nothing is lost or written twice: a stream that returns a size has written so many bytes or
/// keeps them, and one that says "not now" has none of them.
impl<S: Write + AsFd> Write for Waiting<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = when_ready(&mut self.0, PollFlags::OUT, |stream| stream.write(bytes))?;
        // Standard output may keep a part of these bytes.
        self.flush().map(|()| size)
    }

    fn flush(&mut self) -> io::Result<()> {
        when_ready(&mut self.0, PollFlags::OUT, S::flush)
    }
}
