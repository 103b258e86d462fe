//! The two streams between client and server: any cut, a full pipe, either end closed.

use crate::sim;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
};

/// One direction.
#[derive(Debug, Default)]
pub struct Pipe {
    /// The bytes that were written and not yet read.
    pub bytes: VecDeque<u8>,
    /// How many bytes it can hold.
    pub room: usize,
    /// The writer has gone.
    pub ended: bool,
    /// The reader has gone, or the stream is broken.
    pub broken: bool,
    waker: Option<Waker>,
    /// Something was written.
    pub written: Arc<Notify>,
}

impl Pipe {
    /// A pipe that holds this many bytes.
    #[must_use]
    pub fn with(room: usize) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    /// Wakes whoever waits for a change.
    pub fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The server's end of its input.
#[derive(Clone, Debug)]
pub struct Input(pub Arc<Mutex<Pipe>>);
/// The server's end of its output.
#[derive(Clone, Debug)]
pub struct Output(pub Arc<Mutex<Pipe>>);

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.0.lock().unwrap();
        if pipe.broken {
            return Poll::Ready(Err(io::ErrorKind::Other.into()));
        }
        if pipe.bytes.is_empty() {
            if pipe.ended {
                return Poll::Ready(Ok(()));
            }
            pipe.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let most = into.remaining().min(pipe.bytes.len());
        let most = sim::with(|sim| match sim.rng.once_in(3) {
            true => 1 + sim.rng.below(most),
            false => most,
        });
        for byte in pipe.bytes.drain(..most.min(into.remaining())) {
            into.put_slice(&[byte]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.lock().unwrap();
        if pipe.broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = pipe.room.saturating_sub(pipe.bytes.len()).min(bytes.len());
        if room == 0 {
            pipe.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        pipe.bytes.extend(&bytes[..room]);
        pipe.written.notify_one();
        Poll::Ready(Ok(room))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
