//! The messages sent and received, for the reader of a failure.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// How much of a line is shown, in characters.
const SHOWN: usize = 600;
/// How many lines are kept and shown, the last ones.
const LINES: usize = 60;

/// A log of one session. A clone is the same log.
#[derive(Clone, Default)]
pub(crate) struct Transcript(Arc<Mutex<VecDeque<String>>>);

impl Transcript {
    /// Adds a line; `direction` is `->`, `<-` or `--`.
    pub(crate) fn note(&self, direction: &str, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let mut shown: String = text.trim_end().chars().take(SHOWN).collect();
        if shown.len() < text.trim_end().len() {
            shown.push_str(&format!("… ({} bytes)", line.len()));
        }
        let mut lines = self.lines();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(format!("{direction} {shown}"));
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nThe session so far:")?;
        for line in &*self.lines() {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}
