//! A process that does something beside the server, from its first word to its last.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// Such a process: it says `ready` when it has begun, and ends with its input. Drop
/// stops it.
pub(crate) struct Beside(Child);

impl Beside {
    /// Starts it, and waits until it has begun.
    pub(crate) fn start<A: AsRef<OsStr>>(
        program: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    /// It did its work to the end.
    pub(crate) fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
