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
    /// Whether its messages are shown.
    pub(super) is_shown: bool,
}

impl Session {
    /// Starts the program as a server for `map`, and shakes hands. The plugin's server has a folder
    /// of tickets; of another, the messages are shown.
    pub(super) fn start(program: &Path, map: &Path, tickets: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve").arg("--map").arg(map);
        if let Some(folder) = tickets {
            command.arg("--require-ticket");
            command.env("CLAUDE_PLUGIN_DATA", folder);
        }
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(requests), Some(answers)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("the server has no streams".into());
        };
        let mut session = Self {
            server,
            requests: Some(requests),
            answers: BufReader::new(answers),
            last_id: 0,
            is_shown: tickets.is_none(),
        };
        session.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "keyhole-demo", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    /// Calls the tool. `call` is the client's own id of it.
    pub(super) fn load(&mut self, key: &str, call: Option<&str>) -> Result<Value> {
        let mut params = json!({ "name": "load_context", "arguments": { "key": key } });
        if let Some(call) = call {
            params["_meta"] = json!({ "claudecode/toolUseId": call });
        }
        self.request("tools/call", params)
    }

    /// Sends a request, and returns what its answer has as its result.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        self.send(&json!({
            "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params,
        }))?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        self.show("<-", line.trim_end())?;
        let mut answer: Value = serde_json::from_str(&line)?;
        Ok(answer["result"].take())
    }

    /// Ends the session as a client does, by closing the server's input.
    pub(super) fn end(mut self) -> Result {
        self.requests = None;
        let status = self.server.wait()?;
        super::expect(status.success(), "a server that ends in order")
    }

    fn send(&mut self, message: &Value) -> Result {
        let message = message.to_string();
        self.show("->", &message)?;
        if let Some(requests) = &mut self.requests {
            writeln!(requests, "{message}").map_err(|error| format!("the server: {error}"))?;
        }
        Ok(())
    }

    fn show(&self, way: &str, message: &str) -> Result {
        if self.is_shown {
            super::shown(&format!("  {way} {message}\n"))?;
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
