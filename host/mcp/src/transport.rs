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

/// The longest line that we accept, in bytes, with its newline: 1 MiB. A longer line is skipped.
/// The protocol does not limit what a client may add in `_meta`.
const MAX_LINE_BYTES: u32 = 1 << 20;

/// The memory that a request counts for if its line is shorter: 1 KiB, for its task, its entry in
/// the table and its answer. So at most 1024 requests are in flight, four times as many as may wait
/// for the loader.
const MIN_REQUEST_BYTES: u32 = 1024;

/// The transport over a reader of the client's lines and a writer of ours.
pub(super) struct StdioTransport<R, W> {
    from: BufReader<R>,
    /// The part of the next line that is read already. It stands here, and not in
    /// [`Self::next_line`], because the future of that function may be dropped in the middle of a
    /// line.
    line: Vec<u8>,
    /// Whether the beginning of a line that is too long was dropped, so that the rest of this line
    /// is skipped.
    skips: bool,
    to: Arc<Mutex<W>>,
    pending: PendingRequests,
    /// The memory for requests in flight: one permit for each byte of their lines. There are
    /// permits for two of the longest lines, less one byte. A line is read only while there are
    /// enough for the longest.
    memory: Arc<Semaphore>,
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
            memory: Arc::new(Semaphore::new(2 * MAX_LINE_BYTES as usize - 1)),
        }
    }

    /// The next line of at most 1 MiB ([`MAX_LINE_BYTES`]), with its newline. A longer line is
    /// skipped. The last line of the input may have no newline. None at the end of the input, or if
    /// the input cannot be read.
    ///
    /// This future can be dropped at any time: no byte is consumed before it is in `self.line`.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let most = u64::from(MAX_LINE_BYTES).saturating_sub(self.line.len() as u64);
            let mut part = (&mut self.from).take(most);
            let got = part.read_until(b'\n', &mut self.line).await.ok()?;
            let line = std::mem::take(&mut self.line);
            if got as u64 == most && !line.ends_with(b"\n") {
                // 1 MiB without a newline: the line is too long, so these bytes are dropped.
                self.skips = true;
            } else if line.is_empty() {
                // The end of the input.
                return None;
            } else if !std::mem::take(&mut self.skips) {
                return Some(line);
            }
            // If `skips` was set, `line` was the end of the line that is too long: it is dropped.
        }
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    /// Writes an answer on one line, after the answers before it. Nothing is written if the request
    /// is cancelled by then.
    ///
    /// The permit for the request's memory is held until the answer is written or dropped, and so
    /// is the call's permit to run, which is in the answer. So a client that does not read its
    /// answers cannot have more requests in flight than these permits allow.
    ///
    /// # Errors
    /// The answer cannot be written.
    fn send(
        &mut self,
        answer: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Keeps the answer under its request's number, which it returns with the permit for memory.
        let entered = self.pending.answer(answer);
        let to = self.to.clone();
        let pending = self.pending.clone();
        async move {
            // `_memory_permit` is held to the end of this block, and so is the permit in `answer`
            // below. None: the request is cancelled already.
            let Some((number, _memory_permit)) = entered else {
                return Ok(());
            };
            let mut out = to.lock().await;
            // None: the request was cancelled while this waited for the lock.
            let Some(answer) = pending.finish(number) else {
                return Ok(());
            };
            let mut line = serde_json::to_string(&answer)?;
            // Newer versions of Node's readline end a line at these two characters.
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
    /// is not written yet. Any other line is passed by: see [`message::parse`]. None at the end of
    /// the input, when all answers are written. This future can be dropped at any time.
    ///
    /// Before a line is read, this waits until there is memory for the longest line. Of that
    /// memory, a request keeps the length of its line, but at least 1 KiB
    /// ([`MIN_REQUEST_BYTES`]).
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let memory = Arc::clone(&self.memory);
            let mut line_permit = memory.acquire_many_owned(MAX_LINE_BYTES).await.ok()?;
            let Some(line) = self.next_line().await else {
                drop(line_permit);
                // All permits are there only when all answers are written. rmcp itself waits no
                // longer than a call may take.
                let _ = self.memory.acquire_many(2 * MAX_LINE_BYTES - 1).await;
                return None;
            };
            match message::parse(&line) {
                Some(Message::Request(id, request)) => {
                    let bytes = line.len().max(MIN_REQUEST_BYTES as usize);
                    // What is left of `line_permit` is given back at the end of this turn.
                    let memory_permit = line_permit.split(bytes)?;
                    let number = self.pending.begin(id, memory_permit);
                    return Some(ClientJsonRpcMessage::request(*request, number));
                }
                Some(Message::Cancel(id)) => {
                    // rmcp stops the call. Its answer, if one comes, is dropped in `send`.
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
