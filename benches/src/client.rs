//! A client that costs as little as possible: prepared lines out, newlines in.

use crate::files::SMALL;
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// The most that one read may return. A pipe holds 64 KiB, and Keyhole's 256.
const CHUNK: usize = 256 << 10;

/// The client of one session.
#[derive(Debug)]
pub struct Client {
    to: File,
    from: File,
    chunk: Vec<u8>,
    last_id: u64,
}

impl Client {
    /// Shakes hands with the server that reads `to` and writes `from`.
    pub fn new(to: impl Into<OwnedFd>, from: impl Into<OwnedFd>) -> io::Result<Self> {
        let mut client = Self {
            to: to.into().into(),
            from: from.into().into(),
            chunk: vec![0; CHUNK],
            last_id: 0,
        };
        let info = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "keyhole-bench", "version": "1" },
        });
        let answer = client.ask("initialize", &info)?;
        if answer.get("result").is_none() {
            return Err(io::Error::other("the handshake was refused"));
        }
        let done = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        client.to.write_all(done)?;
        Ok(client)
    }

    /// Calls the tool once.
    pub fn check(&mut self, params: &Value, expected: &str) -> io::Result<()> {
        let answer = self.ask("tools/call", params)?;
        match answer.pointer("/result/content/0/text") {
            Some(Value::String(text)) if text == expected => Ok(()),
            _ => Err(io::Error::other("the answer is not the file")),
        }
    }

    /// Makes calls one after the other. Returns the time of each.
    pub fn calls(&mut self, params: &Value, number: usize) -> io::Result<Vec<Duration>> {
        (0..number).map(|_| self.flood(params, 1, 1)).collect()
    }

    /// Makes `number` calls, with up to `width` in flight. Returns the time of all.
    pub fn flood(&mut self, params: &Value, number: usize, width: usize) -> io::Result<Duration> {
        let requests: Vec<_> = (0..number)
            .map(|_| self.request("tools/call", params))
            .collect();
        let (mut sent, mut answered, mut bytes) = (0, 0, 0);
        let began = Instant::now();
        while answered < number {
            let until = number.min(answered + width);
            if sent < until {
                self.to
                    .write_all(requests[sent..until].concat().as_bytes())?;
                sent = until;
            }
            let read = self.read()?;
            bytes += read.len();
            answered += read.iter().filter(|byte| **byte == b'\n').count();
        }
        let took = began.elapsed();
        // A refusal is shorter than the smallest file, so refusals cannot pass for fast
        // answers.
        match bytes >= number * SMALL {
            true => Ok(took),
            false => Err(io::Error::other(format!("refused: {params}"))),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.last_id += 1;
        let id = self.last_id;
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
    }

    /// One request and its answer. It skips what else the server sends in between.
    fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let request = self.request(method, params);
        self.to.write_all(request.as_bytes())?;
        let mut read = Vec::new();
        loop {
            read.extend_from_slice(self.read()?);
            while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                let answer: Value = serde_json::from_slice(&line)?;
                if answer["id"] == self.last_id {
                    return Ok(answer);
                }
            }
        }
    }

    fn read(&mut self) -> io::Result<&[u8]> {
        match self.from.read(&mut self.chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            got => Ok(&self.chunk[..got]),
        }
    }
}

/// The params of `tools/call` for a file, if Keyhole serves it.
#[must_use]
pub fn of_key(key: &str) -> Value {
    json!({ "name": "load_context", "arguments": { "key": key } })
}
