#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Line, Lines};

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
