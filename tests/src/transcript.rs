//! The messages sent and received, for the reader of a failure.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// How much of a line is shown, in bytes.
const SHOWN: usize = 600;
/// How many lines are shown, the last ones.
const LINES: usize = 60;

/// A log of one session. A clone is the same log.
#[derive(Clone, Default)]
pub(crate) struct Transcript(Arc<Mutex<Vec<String>>>);

impl Transcript {
    /// Adds a line; `direction` is `->`, `<-` or `--`.
    pub(crate) fn note(&self, direction: &str, line: &[u8]) {
        let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
        let noted = format!("{direction} {} ({} bytes)", shown.trim_end(), line.len());
        self.0.lock().unwrap().push(noted);
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.lock().unwrap();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        write!(f, "\nThe session so far:\n{}\n", last.join("\n"))
    }
}
