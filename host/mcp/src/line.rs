//! Lines of bounded length from a byte stream.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

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
            // One more, for the newline.
            let room = MAX_LINE_BYTES + 1 - self.line.len();
            let mut part = (&mut self.from).take(room as u64);
            let read = part.read_until(b'\n', &mut self.line).await?;
            let is_whole = self.line.pop_if(|byte| *byte == b'\n').is_some();
            if !is_whole && read == room {
                self.too_long = true;
                self.line = Vec::new();
                continue;
            }
            let line = std::mem::take(&mut self.line);
            return Ok(match std::mem::take(&mut self.too_long) {
                true => Line::TooLong,
                false if is_whole || !line.is_empty() => Line::Whole(line),
                false => Line::End,
            });
        }
    }
}

#[cfg(test)]
mod tests;
