//! Lines of bounded length from a byte stream.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that we accept, in bytes, without its newline. A request for
/// this server takes a few hundred bytes, but the protocol does not limit what a
/// client may add in `_meta`.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its newline.
    Whole(Vec<u8>),
    /// A line longer than [`MAX_LINE_BYTES`]. It is skipped.
    TooLong,
    /// There is no more input.
    End,
}

/// Reads lines.
pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            line: Vec::new(),
            too_long: false,
        }
    }

    /// The next line. Bytes between the last newline and the end of input are a
    /// line too.
    ///
    /// The future can be dropped at any time: a part of a line that was read is
    /// kept for the next call. No byte is consumed before it is stored.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let read = self.from.fill_buf().await?;
            let ended = read.is_empty();
            let newline = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..newline.unwrap_or(read.len())];
            let consumed = part.len() + usize::from(newline.is_some());
            if self.too_long || self.line.len() + part.len() > MAX_LINE_BYTES {
                self.too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            self.from.consume(consumed);
            if newline.is_some() || (ended && (self.too_long || !self.line.is_empty())) {
                let line = std::mem::take(&mut self.line);
                return Ok(match std::mem::take(&mut self.too_long) {
                    true => Line::TooLong,
                    false => Line::Whole(line),
                });
            }
            if ended {
                return Ok(Line::End);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
}
