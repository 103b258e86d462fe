//! A process that does something beside the server, from its first word to its last.

use crate::process::Process;
use std::{ffi::OsStr, process::Command};

/// Such a process: it says `ready` when it has begun, and ends with its input. Drop
/// stops it.
pub struct Beside(Process);

impl Beside {
    /// Starts it, and waits until it has begun.
    pub fn start<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> Self {
        let mut process = Process::start(Command::new(program).args(arguments));
        assert_eq!(process.line(), Ok(Some(b"ready\n".to_vec())));
        Self(process)
    }

    /// It did its work to the end.
    pub fn end(mut self) {
        self.0.stdin = None;
        let end = self.0.end().unwrap();
        let said = String::from_utf8_lossy(&end.stderr);
        assert!(end.status.success(), "{said}");
    }
}
