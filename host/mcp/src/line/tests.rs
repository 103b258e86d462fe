#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Line, Lines, MAX_LINE_BYTES};
use tokio::io::{AsyncReadExt, repeat};

#[tokio::test]
async fn lines_are_split_at_newlines_and_the_last_needs_none() {
    let mut lines = Lines::new(&b"a\n\nb\r\nc"[..]);
    for line in [&b"a"[..], b"", b"b\r", b"c"] {
        assert_eq!(lines.next().await.unwrap(), Line::Whole(line.to_vec()));
    }
    assert_eq!(lines.next().await.unwrap(), Line::End);
    assert_eq!(lines.next().await.unwrap(), Line::End);
}

#[tokio::test]
async fn a_line_that_never_ends_takes_no_memory() {
    let endless = repeat(b'x').take(64 * MAX_LINE_BYTES as u64);
    let mut lines = Lines::new(endless.chain(&b"\nnext\n"[..]));
    assert_eq!(lines.next().await.unwrap(), Line::TooLong);
    assert_eq!(lines.line.capacity(), 0);
    assert_eq!(lines.next().await.unwrap(), Line::Whole(b"next".to_vec()));
}

#[tokio::test]
async fn half_a_line_survives_a_reader_that_gives_up() {
    let (mut to, from) = tokio::io::duplex(16);
    let mut lines = Lines::new(from);
    tokio::io::AsyncWriteExt::write_all(&mut to, b"ha")
        .await
        .unwrap();
    tokio::select! {
        biased;
        line = lines.next() => unreachable!("{line:?}"),
        () = tokio::task::yield_now() => {}
    }
    tokio::io::AsyncWriteExt::write_all(&mut to, b"lf\n")
        .await
        .unwrap();
    assert_eq!(lines.next().await.unwrap(), Line::Whole(b"half".to_vec()));
}
