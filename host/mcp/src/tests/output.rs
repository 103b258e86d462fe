//! What the server writes, and how a session ends.

use super::{Client, Fake, PATIENCE, call, initialize, stateless, until};
use crate::{SessionError, Surface, run_session};
use keyhole_core::Caller;
use serde_json::Value;
use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    time::timeout,
};

/// One request to a writer.
#[derive(Debug, PartialEq)]
enum Did {
    Write(Vec<u8>),
    Flush,
}

/// A writer that records everything, or fails with `error`.
#[derive(Clone, Default)]
struct Recorder {
    did: Arc<Mutex<Vec<Did>>>,
    error: Option<io::ErrorKind>,
}

impl AsyncWrite for Recorder {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.error {
            return Poll::Ready(Err(error.into()));
        }
        self.did.lock().unwrap().push(Did::Write(bytes.to_vec()));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.did.lock().unwrap().push(Did::Flush);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A stream that cannot be read.
struct Unreadable(io::ErrorKind);

impl AsyncRead for Unreadable {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(self.0.into()))
    }
}

async fn session(
    stdin: impl AsyncRead + Unpin + Send + 'static,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), SessionError> {
    let session = run_session(
        Arc::default() as Arc<Fake>,
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
    let lines = [
        initialize().to_string(),
        call(1, "escaped").to_string(),
        call(2, "escaped").to_string(),
        call(3, "document").to_string(),
    ];
    let out = Recorder::default();
    let input = io::Cursor::new(lines.join("\n"));
    session(input, out.clone()).await.unwrap();
    let did = out.did.lock().unwrap();
    let answers: Vec<_> = did.split(|did| *did == Did::Flush).collect();
    assert_eq!(answers.len(), lines.len() + 1);
    let mut documents = Vec::new();
    for answer in answers.iter().take(lines.len()).skip(1) {
        let mut line = Vec::new();
        for write in *answer {
            let Did::Write(bytes) = write else {
                unreachable!();
            };
            assert!(bytes.len() < 256 << 10, "{}", bytes.len());
            line.extend(bytes);
        }
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let answer: Value = serde_json::from_slice(&line).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        documents.push(text.to_owned());
    }
    documents.sort_by_key(String::len);
    let huge = super::ESCAPED.repeat(100_000);
    assert_eq!(documents, [super::DOCUMENT.to_owned(), huge.clone(), huge]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_has_gone_ends_the_session_in_order() {
    let mut client = Client::initialized().await;
    client.call(1, "slow").await;
    until(|| client.loading() == 1).await;
    drop(client.from);
    client.to.write_all(b"not json\n").await.unwrap();
    // The input stays open, and a call is in flight.
    let ended = timeout(PATIENCE, client.session).await.unwrap().unwrap();
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_an_error_unless_the_client_has_gone() {
    let out = |error| Recorder {
        error: Some(error),
        ..Recorder::default()
    };
    // The input stays open.
    let first = format!("{}\n", initialize());
    let (_open, rest) = tokio::io::duplex(1000);
    let input = io::Cursor::new(first).chain(rest);
    session(input, out(io::ErrorKind::BrokenPipe))
        .await
        .unwrap();
    let input = io::Cursor::new(stateless(call(1, "document")).to_string());
    let ended = session(input, out(io::ErrorKind::StorageFull)).await;
    assert!(matches!(ended, Err(SessionError::Output(_))), "{ended:?}");
    let gone = Unreadable(io::ErrorKind::ConnectionReset);
    session(gone, Recorder::default()).await.unwrap();
    let ended = session(Unreadable(io::ErrorKind::IsADirectory), Recorder::default()).await;
    assert!(matches!(ended, Err(SessionError::Input(_))), "{ended:?}");
}
