//! JSON-RPC over two byte streams, with the gaps of rmcp 3.11.0 closed.
//!
//! rmcp has a transport of its own, `AsyncRwTransport`. We have this one because of
//! the following points. It can go when upstream has fixed them:
//!
//! - rmcp drops malformed JSON, invalid UTF-8, deep nesting and lone surrogates
//!   without an answer, and also a line that is too long. (Here: `-32700`,
//!   `-32600`.)
//! - A last line without a newline is lost.
//! - An invalid message is answered without its id.
//! - `tools/call` with malformed params is answered `-32601`, and `tools/list`
//!   with malformed params as if it had none. (Here: `-32602`.)
//! - A notification or response as the first message ends the process.
//! - Two requests in flight with one id get one answer. An id that is used again
//!   after a cancellation can get the answer to the cancelled request.
//! - An answer that waits for stdout is sent even after its request was cancelled.
//! - The number of requests in flight has no limit.
//! - A broken stdout does not end the session.
//! - "Method not found" repeats the method's name, and "Unsupported protocol version" any
//!   text that stands for one. (Here, `message` refuses them.)
//! - A byte order mark, which no client may send (RFC 8259, section 8.1), is skipped at the
//!   start of a line. (Here: `-32700`.)

use super::{
    SessionError,
    escape::escape,
    json::{PIECE, place_of_text, take_text},
    line::{Line, Lines, MAX_LINE_BYTES},
    message::{self, Message},
    pending::PendingRequests,
    refusals::{id_in_use, line_too_long},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest,
        GetExtensions, RequestId, ServerJsonRpcMessage,
    },
    transport::Transport,
};
use serde::Serialize;
use serde_json::json;
use std::{io, pin::Pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Mutex, Semaphore, mpsc},
};

/// The received and unanswered requests may take this many bytes, counted as lines.
/// Beyond this limit, the server reads no more input. A parsed line can take some
/// two hundred times its length (objects of one field in each other). So a hostile client
/// can make the server use 400 MB, and any other client next to nothing.
const MAX_IN_FLIGHT_BYTES: u32 = 2 * MAX_LINE_BYTES as u32;

/// The least that a request counts for, in bytes: its task, its table entries, its
/// answer. So at most 1024 requests are in flight, four times as many as may wait
/// for the loader.
const MIN_REQUEST_BYTES: u32 = 2048;

/// After each line, the buffer for outgoing lines shrinks to this many bytes. It is
/// enough for a piece of a document after escaping.
const KEPT_OUT_BYTES: usize = 160 << 10;

type Writing = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The server's side of the connection.
pub(super) struct StdioTransport<R, W> {
    lines: Lines<R>,
    out: Arc<Mutex<Out<W>>>,
    pending: PendingRequests,
    memory_permits: Arc<Semaphore>,
    failures: mpsc::UnboundedSender<SessionError>,
    /// A refusal that is being written. The server reads nothing until it is
    /// written.
    refusing: Option<Writing>,
    /// A request that waits for memory, and how many bytes. The server reads
    /// nothing until it gets them.
    waiting: Option<(RequestId, Box<ClientRequest>, u32)>,
}

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Reads `from` and writes `to`. If a stream breaks, `failures` gets the error.
    pub(super) fn new(from: R, to: W, failures: mpsc::UnboundedSender<SessionError>) -> Self {
        Self {
            lines: Lines::new(from),
            out: Arc::new(Mutex::new(Out {
                to,
                line: Vec::new(),
                failures: Some(failures.clone()),
            })),
            pending: PendingRequests::default(),
            memory_permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT_BYTES as usize)),
            failures,
            refusing: None,
            waiting: None,
        }
    }

    /// Starts to write `error` as the answer. The server writes it before it reads
    /// more. Unlike rmcp's, it always has an `id`, null if the id is unknown, as
    /// JSON-RPC 2.0 demands.
    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        let out = self.out.clone();
        self.refusing = Some(Box::pin(async move {
            let refusal = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            out.lock().await.write(&refusal, "").await
        }));
    }

    /// Takes in a line. Returns the message that rmcp must get at once, if any.
    fn take_in(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        match message::read(line) {
            Message::Request { id, request } => {
                let bytes = u32::try_from(line.len()).unwrap_or(MAX_IN_FLIGHT_BYTES);
                self.waiting = Some((id, request, bytes.max(MIN_REQUEST_BYTES)));
                None
            }
            Message::Cancel(id) => {
                let number = self.pending.cancel(&id)?;
                let params = CancelledNotificationParam::new(Some(number), None);
                let cancelled = CancelledNotification::new(params);
                Some(ClientJsonRpcMessage::notification(cancelled.into()))
            }
            Message::Nothing => None,
            Message::Refused(id, error) => {
                self.refuse(id, error);
                None
            }
        }
    }

    /// Lets the waiting request in, once there is memory for it.
    async fn let_in(&mut self) -> Option<ClientJsonRpcMessage> {
        let (_, _, bytes) = self.waiting.as_ref()?;
        let memory_permit = self
            .memory_permits
            .clone()
            .acquire_many_owned(*bytes)
            .await
            .ok()?;
        let (id, mut request, _) = self.waiting.take()?;
        match self.pending.begin(id.clone(), memory_permit) {
            Some((number, permits)) => {
                request.extensions_mut().insert(permits);
                Some(ClientJsonRpcMessage::request(*request, number))
            }
            None => {
                self.refuse(Some(id), id_in_use());
                None
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

    /// Writes an answer, unless its request was cancelled. What the request
    /// holds is released when the answer is written.
    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (out, pending) = (self.out.clone(), self.pending.clone());
        async move {
            let mut out = out.lock().await;
            let id = match &mut message {
                ServerJsonRpcMessage::Response(answer) => Some(&mut answer.id),
                ServerJsonRpcMessage::Error(answer) => answer.id.as_mut(),
                // The server sends no requests and no notifications.
                ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
            };
            let Some(id) = id else { return Ok(()) };
            // We look the request up only now, so that a cancellation still counts
            // if it comes while others are writing.
            let Some((clients_own, _permits)) = pending.finish(id) else {
                return Ok(());
            };
            *id = clients_own;
            let text = take_text(&mut message).unwrap_or_default();
            out.write(&message, &text).await
        }
    }

    /// The next request or cancellation. None means the end of input.
    ///
    /// The future can be dropped at any time: `self` keeps everything that is in
    /// progress.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let written = refusing.await;
                self.refusing = None;
                written.ok()?;
            }
            if self.waiting.is_some() {
                match self.let_in().await {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            match self.lines.next().await {
                Ok(Line::Whole(line)) => {
                    if let Some(message) = self.take_in(&line) {
                        return Some(message);
                    }
                }
                Ok(Line::TooLong) => {
                    self.refuse(None, line_too_long());
                }
                Ok(Line::End) => return None,
                Err(error) => {
                    // Nobody listens any more if the session has ended.
                    let _ = self.failures.send(SessionError::Input(error));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The outgoing stream. Whoever holds its lock writes one whole line.
struct Out<W> {
    to: W,
    line: Vec<u8>,
    /// None while a line is being written. It stays None if the write fails or is
    /// abandoned: part of a line may be out then, so nothing more may follow.
    failures: Option<mpsc::UnboundedSender<SessionError>>,
}

impl<W: AsyncWrite + Unpin> Out<W> {
    /// Writes `message` with `text` in place of its own text, which is empty: a document
    /// piece by piece, the rest at once.
    async fn write(&mut self, message: &impl Serialize, text: &str) -> io::Result<()> {
        let Some(failures) = self.failures.take() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.line.clear();
        serde_json::to_writer(&mut self.line, message)?;
        let mut written = match text {
            "" => Ok(()),
            text => self.write_text(text).await,
        };
        self.line.push(b'\n');
        if written.is_ok() {
            written = self.to.write_all(&self.line).await;
        }
        if written.is_ok() {
            written = self.to.flush().await;
        }
        self.line.clear();
        self.line.shrink_to(KEPT_OUT_BYTES);
        if let Err(error) = written {
            let kind = error.kind();
            // Nobody listens any more if the session has ended.
            let _ = failures.send(SessionError::Output(error));
            return Err(kind.into());
        }
        self.failures = Some(failures);
        Ok(())
    }

    /// Inserts the text. If it fits into one piece, it stays in the line; otherwise
    /// everything but the last piece is written now.
    async fn write_text(&mut self, text: &str) -> io::Result<()> {
        let place = place_of_text(&self.line).ok_or(io::ErrorKind::InvalidData)?;
        let tail = self.line.split_off(place);
        // A piece may end within a character: escaping works on bytes.
        for (index, piece) in text.as_bytes().chunks(PIECE).enumerate() {
            if index > 0 {
                self.to.write_all(&self.line).await?;
                self.line.clear();
            }
            escape(piece, &mut self.line);
        }
        self.line.extend_from_slice(&tail);
        Ok(())
    }
}
