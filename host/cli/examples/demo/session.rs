//! The client: one server process, one request at a time.

use super::Result;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A server, and the two ends of its streams. The server is stopped on drop.
pub(super) struct Session {
    server: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    last_id: u64,
}

impl Session {
    /// Starts the program as a server for `map`.
    pub(super) fn start(program: &Path, map: &Path) -> Result<Self> {
        let mut server = Command::new(program)
            .arg("serve")
            .arg("--map")
            .arg(map)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(answers)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("the server has no streams".into());
        };
        Ok(Self {
            server,
            requests: Some(requests),
            answers: BufReader::new(answers),
            last_id: 0,
        })
    }

    pub(super) fn load(&mut self, key: &str) -> Result<Value> {
        self.request(
            "tools/call",
            json!({ "name": "load_context", "arguments": { "key": key } }),
        )
    }

    /// Sends a request, waits for its answer, and shows both.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        self.send(&json!({
            "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params,
        }))?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let said = format!("  <- {}\n", line.trim_end());
        super::shown(&said)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Sends a notification, which has no answer.
    pub(super) fn notify(&mut self, method: &str) -> Result {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    /// Ends the session as a client does, by closing the server's input.
    pub(super) fn end(mut self) -> Result {
        self.requests = None;
        let status = self.server.wait()?;
        super::expect(status.success(), "a server that ends in order")
    }

    fn send(&mut self, message: &Value) -> Result {
        super::shown(&format!("  -> {message}\n"))?;
        if let Some(requests) = &mut self.requests {
            writeln!(requests, "{message}").map_err(|error| format!("the server: {error}"))?;
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After `end` the server is gone already; otherwise the session stopped early.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
