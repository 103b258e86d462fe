//! A client that costs as little as possible: prepared lines out, newlines in.

use crate::server::{Server, Streams};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The most that one read may return. A pipe holds 64 KiB.
const CHUNK: usize = 256 << 10;

/// A running server. Drop stops it.
pub(crate) struct Session {
    child: Child,
    to: Option<File>,
    from: File,
    chunk: Vec<u8>,
    last_id: u64,
    began: Instant,
}

impl Session {
    /// Starts `server` and shakes hands. Returns how long that took, from before the start
    /// to the answer.
    pub(crate) fn start(server: &Server) -> io::Result<(Self, Duration)> {
        let (program, arguments) = server
            .command
            .split_first()
            .ok_or_else(|| io::Error::other("no command"))?;
        let mut command = Command::new(program);
        command.args(arguments).stderr(Stdio::null());
        let sockets = match server.streams {
            Streams::Pipes => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                None
            }
            Streams::Sockets => {
                let (to, stdin) = UnixStream::pair()?;
                let (from, stdout) = UnixStream::pair()?;
                command
                    .stdin(OwnedFd::from(stdin))
                    .stdout(OwnedFd::from(stdout));
                Some((OwnedFd::from(to), OwnedFd::from(from)))
            }
        };
        let began = Instant::now();
        let mut child = command.spawn()?;
        // This closes our copy of the server's ends.
        drop(command);
        let (to, from) = match (sockets, child.stdin.take(), child.stdout.take()) {
            (Some((to, from)), _, _) => (to, from),
            (None, Some(to), Some(from)) => (to.into(), from.into()),
            _ => return Err(io::Error::other("no streams")),
        };
        let mut session = Self {
            child,
            to: Some(to.into()),
            from: from.into(),
            chunk: vec![0; CHUNK],
            last_id: 0,
            began,
        };
        let client = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "keyhole-bench", "version": "1" },
        });
        let answer = session.ask("initialize", &client)?;
        let took = began.elapsed();
        if answer.get("result").is_none() {
            return Err(io::Error::other("the handshake was refused"));
        }
        session.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok((session, took))
    }

    /// Calls the tool once and checks that the answer is `expected`. Returns the time since
    /// the start.
    pub(crate) fn check(&mut self, params: &Value, expected: &str) -> io::Result<Duration> {
        let answer = self.ask("tools/call", params)?;
        let took = self.began.elapsed();
        match answer.pointer("/result/content/0/text") {
            Some(Value::String(text)) if text == expected => Ok(took),
            _ => Err(io::Error::other("the answer is not the file")),
        }
    }

    /// Makes calls one after the other. Returns the time of each.
    pub(crate) fn calls(&mut self, params: &Value, number: usize) -> io::Result<Vec<Duration>> {
        let requests = self.prepare(params, number);
        let mut times = Vec::with_capacity(number);
        let mut bytes = 0;
        for request in &requests {
            let sent = Instant::now();
            self.write(request)?;
            bytes += self.read_lines(1)?.1;
            times.push(sent.elapsed());
        }
        plausible(bytes, number, params)?;
        Ok(times)
    }

    /// Makes `number` calls, with up to `width` in flight. Returns the total time.
    pub(crate) fn flood(
        &mut self,
        params: &Value,
        number: usize,
        width: usize,
    ) -> io::Result<Duration> {
        let requests = self.prepare(params, number);
        let (mut sent, mut answered, mut bytes) = (0, 0, 0);
        let began = Instant::now();
        while answered < number {
            let until = number.min(answered + width);
            if sent < until {
                self.write(&requests[sent..until].concat())?;
                sent = until;
            }
            let (lines, read) = self.read_lines(1)?;
            answered += lines;
            bytes += read;
        }
        let took = began.elapsed();
        plausible(bytes, number, params)?;
        Ok(took)
    }

    /// The most memory that was resident at any time, in bytes. None if the system does not
    /// tell.
    pub(crate) fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    }

    fn prepare(&mut self, params: &Value, number: usize) -> Vec<Vec<u8>> {
        (0..number)
            .map(|_| self.request("tools/call", params))
            .collect()
    }

    fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.last_id += 1;
        let id = self.last_id;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
            .into_bytes()
            .into_iter()
            .chain([b'\n'])
            .collect()
    }

    /// One request and its answer. It skips what else the server sends in between.
    fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let request = self.request(method, params);
        self.write(&request)?;
        let mut read = Vec::new();
        loop {
            let got = self.read()?;
            read.extend_from_slice(&self.chunk[..got]);
            while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                let answer: Value = serde_json::from_slice(&line)?;
                if answer["id"] == self.last_id {
                    return Ok(answer);
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            Some(to) => to.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        match self.from.read(&mut self.chunk)? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server ended",
            )),
            got => Ok(got),
        }
    }

    /// Reads until `number` lines have ended. Returns the lines and the bytes.
    fn read_lines(&mut self, number: usize) -> io::Result<(usize, usize)> {
        let (mut lines, mut bytes) = (0, 0);
        while lines < number {
            let got = self.read()?;
            bytes += got;
            lines += self.chunk[..got]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
        }
        Ok((lines, bytes))
    }
}

/// A refusal is shorter than the smallest file, so that refusals cannot pass for
/// fast answers.
fn plausible(bytes: usize, answers: usize, params: &Value) -> io::Result<()> {
    match bytes >= answers * crate::files::SMALL {
        true => Ok(()),
        false => Err(io::Error::other(format!("refused: {params}"))),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A server should end with its input. One that does not is killed.
        self.to = None;
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
