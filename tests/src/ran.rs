//! The outcome of a command that ran to its end.

use crate::{process::Process, session::without_start};
use serde_json::Value;
use std::{io::Write as _, process::Command};

/// A command's outcome. Each check is exact and returns the outcome, for the next
/// check.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Standard output, with `HOME` in place of the world's home.
    pub stdout: String,
    /// Standard error, with the same replacement.
    pub stderr: String,
    /// The exit status. None means that a signal ended it.
    pub exit: Option<i32>,
}

impl Ran {
    /// Runs any command with `input`. Output that names a home stays as it is.
    pub fn of(command: &mut Command, input: &[u8]) -> Self {
        Self::with_input(command, input, "\0")
    }

    /// The same, with `HOME` in place of this home.
    pub(crate) fn with_input(command: &mut Command, input: &[u8], home: &str) -> Self {
        // Less than a pipe holds, so that neither side waits for the other.
        assert!(input.len() < 1 << 16, "input that fits in a pipe");
        let mut process = Process::start(command);
        if let Some(mut stdin) = process.stdin.take() {
            // The command may have ended without reading.
            let _ = stdin.write_all(input);
        }
        let end = process.end();
        let end = end.unwrap_or_else(|hung| panic!("{command:?}: {hung}"));
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("output is text");
            text.replace(home, "HOME")
        };
        Self {
            stdout: text(end.stdout.concat()),
            stderr: text(end.stderr),
            exit: end.status.code(),
        }
    }

    /// It exits with `status`.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.exit, Some(status), "{self:#?}");
        self
    }

    /// Standard output is `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout == text, "expected {text}\ngot {self:#?}");
        self
    }

    /// Standard output contains `text`.
    #[track_caller]
    pub fn mentions(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// Standard output does not contain `text`.
    #[track_caller]
    pub fn conceals(self, text: &str) -> Self {
        assert!(!self.stdout.contains(text), "{text:?} is in {self:#?}");
        self
    }

    /// Standard output as JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Standard output is empty, and standard error contains `text`.
    #[track_caller]
    pub fn only_complains(self, text: &str) -> Self {
        let ran = self.says("");
        assert!(ran.stderr.contains(text), "no {text:?} in {ran:#?}");
        ran
    }

    /// Standard error is empty, but for what a server says of its map at the start.
    #[track_caller]
    pub fn says_nothing_on_stderr(self) -> Self {
        assert_eq!(without_start(&self.stderr), "", "{self:#?}");
        self
    }
}
