//! JSON-RPC over two byte streams. rmcp 3.11.0 has `AsyncRwTransport` for that. We have this one
//! because of the following points. It can go when upstream has fixed them:
//!
//! - A request becomes a tree, and stays one: a line of 1 MiB takes some 400 MB. (Here, `message`
//!   keeps what the server uses: a line in flight takes its own length, or three times as much if
//!   its bytes are not UTF-8.)
//! - The number of requests in flight has no limit, and neither has that of answers which the
//!   client does not read.
//! - An id that is used again after a cancellation can get the answer to the cancelled request.
//! - An answer that waits for stdout is sent even after its request was cancelled.
//! - A notification or response as the first message ends the process.

use super::{
    message::{self, Message},
    pending::PendingRequests,
};
use rmcp::{
    RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage,
        ServerJsonRpcMessage,
    },
    transport::Transport,
};
use std::{io, sync::Arc};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    sync::{Mutex, Semaphore},
};

/// The longest line that we accept, in bytes, with its newline. A longer one is skipped. The
/// protocol does not limit what a client may add in `_meta`.
const MAX_LINE_BYTES: u32 = 1 << 20;

/// The least that a request counts for, in bytes: its task, its table entries, its answer. So at
/// most 1024 requests are in flight, four times as many as may wait for the loader.
const MIN_REQUEST_BYTES: u32 = 1024;

/// The transport over a reader of the client's lines and a writer of ours.
pub(super) struct StdioTransport<R, W> {
    from: BufReader<R>,
    /// The part of the next line that is read already. It outlives [`Self::next_line`], whose
    /// future may be dropped in the middle of a line.
    line: Vec<u8>,
    /// Whether the next line is too long: what was read of it is dropped already.
    skips: bool,
    to: Arc<Mutex<W>>,
    pending: PendingRequests,
    /// The memory for requests in flight, in bytes of their lines. Nothing is read while there is
    /// no room for the longest line.
    room: Arc<Semaphore>,
}

impl<R: AsyncRead + Unpin, W> StdioTransport<R, W> {
    /// A transport that reads lines from `from`, and writes answers to `to`.
    pub(super) fn new(from: R, to: W, pending: PendingRequests) -> Self {
        Self {
            from: BufReader::new(from),
            line: Vec::new(),
            skips: false,
            to: Arc::new(Mutex::new(to)),
            pending,
            room: Arc::new(Semaphore::new(2 * MAX_LINE_BYTES as usize - 1)),
        }
    }

    /// The next line of at most [`MAX_LINE_BYTES`] bytes, also one without a newline at the end of
    /// the input. A longer one is skipped. None at the end of the input, or if it cannot be read.
    ///
    /// It can be dropped at any time: no byte is consumed before it is stored in `self.line`.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let room = u64::from(MAX_LINE_BYTES).saturating_sub(self.line.len() as u64);
            let mut part = (&mut self.from).take(room);
            let read = part.read_until(b'\n', &mut self.line).await.ok()?;
            let line = std::mem::take(&mut self.line);
            if read as u64 == room && !line.ends_with(b"\n") {
                // The line has no end yet, so it is too long.
                self.skips = true;
            } else if line.is_empty() {
                return None;
            } else if !std::mem::take(&mut self.skips) {
                // Otherwise, this is the end of the line that is skipped.
                return Some(line);
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    /// Writes an answer on one line, unless its request is cancelled before its turn comes. Until
    /// it is written, the request keeps its share of the memory (`_room`), and its call the permit
    /// to run (`_place`).
    fn send(
        &mut self,
        answer: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let waiting = self.pending.answer(answer);
        let (to, pending) = (self.to.clone(), self.pending.clone());
        async move {
            let Some((number, _room)) = waiting else {
                return Ok(());
            };
            let mut out = to.lock().await;
            let Some((answer, _place)) = pending.finish(number) else {
                return Ok(());
            };
            let mut line = serde_json::to_string(&answer)?;
            // Newer versions of Node's readline end a line here.
            for (end, escaped) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")] {
                if line.contains(end) {
                    line = line.replace(end, escaped);
                }
            }
            line.push('\n');
            out.write_all(line.as_bytes()).await?;
            out.flush().await
        }
    }

    /// The next request, with our number for it, or the next cancellation of a request whose answer
    /// is not written yet. Any other line is passed by. None at the end of the input, when all
    /// answers are written. It can be dropped at any time.
    ///
    /// Before it reads a line, it waits until there is memory for the longest line.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let room = Arc::clone(&self.room);
            let mut of_a_line = room.acquire_many_owned(MAX_LINE_BYTES).await.ok()?;
            let Some(line) = self.next_line().await else {
                drop(of_a_line);
                // This waits until all answers are written. rmcp itself waits no longer than a call
                // may take.
                let _ = self.room.acquire_many(2 * MAX_LINE_BYTES - 1).await;
                return None;
            };
            match message::read(&line) {
                Some(Message::Request(id, request)) => {
                    let bytes = line.len().max(MIN_REQUEST_BYTES as usize);
                    let of_request = of_a_line.split(bytes)?;
                    let number = self.pending.begin(id, of_request);
                    return Some(ClientJsonRpcMessage::request(*request, number));
                }
                Some(Message::Cancel(id)) => {
                    if let Some(number) = self.pending.cancel(&id) {
                        let params = CancelledNotificationParam::new(Some(number), None);
                        let cancelled = CancelledNotification::new(params);
                        return Some(ClientJsonRpcMessage::notification(cancelled.into()));
                    }
                }
                None => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
