//! What a command said that ran to its end.

use crate::process::Process;
use std::process::Command;

/// A command's outcome. Each check is exact and gives the outcome back, for the
/// next.
#[derive(Debug)]
pub struct Ran {
    /// Standard output, with `HOME` for the world's home.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// The exit status; none where a signal ended it.
    pub exit: Option<i32>,
}

impl Ran {
    /// Runs `command` with no input.
    pub(crate) fn run(command: &mut Command, home: &str) -> Self {
        let mut process = Process::start(command);
        process.stdin = None;
        let end = process
            .end()
            .unwrap_or_else(|hung| panic!("{command:?}: {hung}"));
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

    /// Standard error is empty.
    #[track_caller]
    pub fn says_nothing_on_stderr(self) -> Self {
        assert_eq!(self.stderr, "", "{self:#?}");
        self
    }
}
