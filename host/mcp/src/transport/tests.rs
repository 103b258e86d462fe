#![allow(clippy::unwrap_used, reason = "tests")]

use super::Out;
use crate::json::PIECE;
use tokio::{io::sink, sync::mpsc};

#[tokio::test]
async fn between_lines_there_is_room_for_a_piece_of_a_document_and_not_for_a_long_line() {
    let (failures, _listener) = mpsc::unbounded_channel();
    let mut out = Out {
        to: sink(),
        line: Vec::new(),
        failures: Some(failures),
    };
    let long = "a".repeat(1 << 20);
    out.write(&long, "").await.unwrap();
    let kept = out.line.capacity();
    assert!((PIECE..long.len()).contains(&kept), "{kept}");
}
