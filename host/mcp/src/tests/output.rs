//! What the server writes, and how a session ends.

use super::{Client, DOCUMENT, ESCAPED, Fake, PATIENCE, call, initialize, stateless, until};
use crate::{SessionError, Surface, run_session};
use keyhole_core::Caller;
use serde_json::Value;
use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, duplex},
    time::timeout,
};

/// A stream that records what is written, and nothing for each flush; or fails with `error`.
#[derive(Clone, Default)]
struct Stream {
    did: Arc<Mutex<Vec<Vec<u8>>>>,
    error: Option<ErrorKind>,
}

impl Stream {
    fn broken(error: ErrorKind) -> Self {
        let error = Some(error);
        Self {
            error,
            ..Self::default()
        }
    }

    fn did(&self, bytes: &[u8]) -> Poll<io::Result<()>> {
        self.did.lock().unwrap().push(bytes.to_vec());
        Poll::Ready(self.error.map_or(Ok(()), |error| Err(error.into())))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.did(&[])
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.did(bytes).map_ok(|()| bytes.len())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.did(&[])
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn session(
    stdin: impl AsyncRead + Unpin + Send + 'static,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), SessionError> {
    let session = run_session(
        Arc::<Fake>::default(),
        Caller::Nobody,
        Surface::general(),
        stdin,
        stdout,
        std::future::pending(),
    );
    timeout(PATIENCE, session).await.unwrap()
}

/// Besides the document itself, the server holds only one piece of the answer. It once held
/// the whole answer, and twice that while the buffer grew.
#[tokio::test(start_paused = true)]
async fn a_large_document_goes_out_in_pieces_as_one_line_that_nothing_is_put_between() {
    let keys = ["escaped", "escaped", "document"];
    let mut input = format!("{}\n", initialize());
    for (id, key) in keys.iter().enumerate() {
        input += &format!("{}\n", call(id, key));
    }
    let out = Stream::default();
    session(io::Cursor::new(input), out.clone()).await.unwrap();
    let did = out.did.lock().unwrap();
    assert!(did.iter().all(|bytes| bytes.len() < 256 << 10));
    let mut documents = Vec::new();
    // Behind the handshake's, each answer ends with a flush.
    for answer in did.split(Vec::is_empty).skip(1).take(keys.len()) {
        let line = answer.concat();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let answer: Value = serde_json::from_slice(&line).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        documents.push(text.to_owned());
    }
    documents.sort_by_key(String::len);
    let huge = ESCAPED.repeat(100_000);
    assert_eq!(documents, [DOCUMENT.to_owned(), huge.clone(), huge]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_an_error_unless_the_client_has_gone() {
    let request = stateless(call(1, "document")).to_string();
    // The input stays open.
    let (_open, rest) = duplex(1000);
    let input = io::Cursor::new(format!("{request}\n")).chain(rest);
    let ended = session(input, Stream::broken(ErrorKind::BrokenPipe)).await;
    ended.unwrap();
    let full = Stream::broken(ErrorKind::StorageFull);
    let ended = session(io::Cursor::new(request), full).await;
    assert!(matches!(ended, Err(SessionError::Output(_))), "{ended:?}");
    let gone = Stream::broken(ErrorKind::ConnectionReset);
    session(gone, Stream::default()).await.unwrap();
    let unreadable = Stream::broken(ErrorKind::IsADirectory);
    let ended = session(unreadable, Stream::default()).await;
    assert!(matches!(ended, Err(SessionError::Input(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_has_gone_ends_the_session_in_order_and_gives_back_every_place() {
    let mut client = Client::with_room(1 << 20, 1000);
    client.initialize().await;
    for (id, key) in ["big", "big", "slow"].iter().enumerate() {
        client.call(id, key).await;
    }
    let loader = client.loader;
    until(|| (loader.held(), loader.loading()) == (2, 1)).await;
    drop(client.from);
    // The input stays open, and a call is in flight.
    let ended = timeout(PATIENCE, client.session).await.unwrap().unwrap();
    ended.unwrap();
    until(|| loader.held() == 0).await;
}
