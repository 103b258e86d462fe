//! The standard streams, as a client leaves them.
//!
//! A client may have made a stream not blocking: it then answers "not now" where others wait.
//! That flag belongs to everybody who has the stream open, so we leave it as it is, and wait
//! until the stream is ready.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, BufRead as _, Cursor, Read, Write},
    os::fd::AsFd,
    pin::Pin,
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    task::{JoinHandle, spawn_blocking},
};

/// A standard stream that waits, whether it blocks or not.
pub(crate) struct Waiting<S>(pub(crate) S);

pub(crate) fn put(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = Waiting(io::stdout());
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Prints `text` on standard output. If its reader, such as `head`, has seen enough, that is fine.
pub(crate) fn print(text: &str) -> Result<(), String> {
    match put(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {why}")),
        _ => Ok(()),
    }
}

/// Tells the user on standard error. If that is closed, nobody is left to tell.
pub(crate) fn say(message: &str) {
    let _ = writeln!(Waiting(io::stderr()), "keyhole: {message}");
}

/// Writes a line to standard error if that takes it at once: a server's calls must not wait. A pipe
/// that is ready takes 4,096 bytes, more than all threads write at a time.
pub(crate) fn note(line: &str) {
    let stderr = io::stderr();
    let mut polled = [PollFd::new(&stderr, PollFlags::OUT)];
    let is_told = poll(&mut polled, Some(&Timespec::default())).is_ok();
    if is_told && polled[0].revents().contains(PollFlags::OUT) {
        let _ = (&stderr).write_all(format!("{line}\n").as_bytes());
    }
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
        again(&mut self.0, PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        again(&mut self.0, PollFlags::OUT, S::flush)
    }
}

/// Standard input or output, which a thread of the runtime reads or writes. tokio's own ends at
/// "not now".
#[derive(Default)]
pub(crate) struct OnThread {
    busy: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// What was read, and nobody has taken yet.
    read: Cursor<Vec<u8>>,
}

impl OnThread {
    /// What the thread read. Nothing, if none is at work.
    fn done(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let Some(busy) = &mut self.busy else {
            return Poll::Ready(Ok(Vec::new()));
        };
        let ended = ready!(Pin::new(busy).poll(cx));
        self.busy = None;
        Poll::Ready(ended?)
    }
}

impl AsyncRead for OnThread {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.fill_buf()?.is_empty() {
            let most = to.remaining();
            let read = move || {
                let mut bytes = vec![0; most];
                let got = Waiting(io::stdin()).read(&mut bytes)?;
                bytes.truncate(got);
                Ok(bytes)
            };
            self.busy.get_or_insert_with(|| spawn_blocking(read));
            self.read = Cursor::new(ready!(self.done(cx))?);
        }
        Pin::new(&mut self.read).poll_read(cx, to)
    }
}

impl AsyncWrite for OnThread {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.done(cx))?;
        let (bytes, taken) = (bytes.to_vec(), bytes.len());
        self.busy = Some(spawn_blocking(move || put(&bytes).map(|()| Vec::new())));
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.done(cx).map_ok(drop)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
