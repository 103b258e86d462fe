//! An MCP client, and the `keyhole serve` that it started.

use crate::{Answer, Protocol, process::Process, transcript::Transcript};
use keyhole_tree::Tree;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    cell::Cell,
    collections::HashMap,
    io::{ErrorKind, Write as _},
    process::Command,
    sync::Arc,
};

/// What a server has said on standard error, without what it may say of its map at its start:
/// that it cannot be used, or has no roots. Of a map that is missing it also says where.
#[must_use]
pub fn without_start(said: &str) -> String {
    const RESTART: &str =
        " After that, restart this server, which may read whatever its user may until then.";
    let mut said = said.replacen("keyhole: the map has no roots, so this server may read whatever its user may; add roots, and restart it\n", "", 1);
    for restart in [RESTART, ""] {
        let invalid = format!(
            "keyhole: map-invalid: The map cannot be used, so every call is refused. Run `keyhole check`, or with Claude Code's plugin /keyhole:check, which shows the line.{restart}\n"
        );
        said = said.replacen(&invalid, "", 1);
    }
    said
}

/// One client and its server. The server is killed on drop.
#[must_use]
pub struct Session {
    process: Process,
    protocol: Protocol,
    last_id: u64,
    /// Answers that came while the client waited for another.
    early: HashMap<u64, Value>,
    transcript: Transcript,
    /// How many calls were refused because the caller was not verified.
    unverified: Cell<usize>,
    /// Keeps the server's home until the server has ended.
    _home: Arc<Tree>,
}

/// How a server ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status. None means that a signal ended it.
    pub exit: Option<i32>,
    /// The messages that were not received before.
    pub messages: Vec<Value>,
    /// All of standard error.
    pub stderr: String,
}

impl Ended {
    /// It ended in order, and said nothing but of its map at its start.
    #[track_caller]
    pub fn quietly(&self, place: &str) {
        let found = (self.exit, &*without_start(&self.stderr));
        assert_eq!(found, (Some(0), ""), "{place}");
    }
}

impl Session {
    pub(crate) fn start(command: &mut Command, protocol: Protocol, home: Arc<Tree>) -> Self {
        Self {
            process: Process::start(command),
            protocol,
            last_id: 0,
            early: HashMap::new(),
            transcript: Transcript::default(),
            unverified: Cell::default(),
            _home: home,
        }
    }

    /// Begins as a client of this protocol does, and returns the server's answer.
    #[track_caller]
    pub fn handshake(&mut self) -> Answer {
        let id = self.begin();
        self.answer(id)
    }

    /// As [`Self::handshake`], without waiting. Returns the id of the request.
    #[track_caller]
    pub fn begin(&mut self) -> u64 {
        match self.protocol {
            Protocol::Initialize => {
                let id = self.ask("initialize", Protocol::hello(self.protocol.version()));
                self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
                id
            }
            Protocol::Discover => self.ask("server/discover", json!({})),
        }
    }

    /// Calls the tool with `key` and waits for the answer.
    #[track_caller]
    pub fn load(&mut self, key: &str) -> Answer {
        let id = self.call(key);
        self.answer(id)
    }

    /// As [`Self::load`], for what takes a busy machine longer than a call may: then it calls
    /// again, a few times.
    #[track_caller]
    pub fn load_at_last(&mut self, key: &str) -> Answer {
        let mut answer = self.load(key);
        for _ in 0..5 {
            if let Some("timed-out" | "busy") = answer.code() {
                answer = self.load(key);
            }
        }
        answer
    }

    /// Calls the tool with `key`. Returns the id, to wait with [`Self::answer`].
    #[track_caller]
    pub fn call(&mut self, key: &str) -> u64 {
        self.ask(
            "tools/call",
            json!({ "name": "load_context", "arguments": { "key": key } }),
        )
    }

    /// Calls the tool of a bound server, without arguments, and waits for the answer.
    #[track_caller]
    pub fn load_bound(&mut self) -> Answer {
        self.request("tools/call", json!({ "name": "load_context" }))
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Answer {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a request. Returns its id.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let params = self.protocol.params(params);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer to the request with this id. Keeps others that come
    /// before it.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Answer {
        let message = loop {
            if let Some(message) = self.early.remove(&id) {
                break message;
            }
            let answer = self.receive();
            match answer.message["id"].as_u64() {
                Some(early) => {
                    if self.early.insert(early, answer.message).is_some() {
                        self.fail("one answer to each request");
                    }
                }
                None => self.fail("an answer with an id"),
            }
        };
        self.wrap(message)
    }

    /// The next message, whatever it is.
    #[track_caller]
    pub fn receive(&mut self) -> Answer {
        if let Some(answer) = self.receive_unless_ended() {
            return answer;
        }
        let said = self.process.end().map(|end| end.stderr).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        self.fail(&format!("an answer; the server ended, and said: {said}"))
    }

    /// The next message. None means that the server ended its output.
    #[track_caller]
    pub fn receive_unless_ended(&mut self) -> Option<Answer> {
        let line = self.receive_line()?;
        let message = self.parse(&line);
        Some(self.wrap(message))
    }

    /// The next message as it is written. None means that the server ended its output.
    #[track_caller]
    pub fn receive_line(&mut self) -> Option<Vec<u8>> {
        let line = match self.process.line() {
            Ok(line) => line?,
            Err(hung) => self.fail(hung),
        };
        self.transcript.note("<-", &line);
        Some(line)
    }

    /// Sends a message.
    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    /// Sends any bytes, and a newline.
    #[track_caller]
    pub fn send_line(&mut self, line: &[u8]) {
        self.send_bytes(&[line, b"\n"].concat());
    }

    /// Sends any bytes. It is no error here if the server has ended: the test judges
    /// what the server said before.
    #[track_caller]
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.transcript.note("->", bytes);
        let stdin = self.process.stdin.as_mut().expect("stdin is open");
        match stdin.write_all(bytes).and_then(|()| stdin.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
    }

    /// Ends the server's input.
    pub fn hang_up(&mut self) {
        self.transcript.note("--", b"end of input");
        self.process.stdin = None;
    }

    /// The server's process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal to the server.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.transcript.note("--", format!("{signal:?}").as_bytes());
        let id = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        kill_process(id.expect("a process id"), signal).expect("our own child");
    }

    /// Ends the session in order: at the end of its input the server sends nothing
    /// more, has written nothing to standard error but why a caller was not verified, once a
    /// call, and exits with 0.
    #[track_caller]
    pub fn end(mut self) {
        self.hang_up();
        self.ends_quietly();
    }

    /// As [`Self::end`], if something else made the server end. It may have said that its map
    /// has no roots.
    #[track_caller]
    pub fn ends_quietly(self) {
        let transcript = self.transcript.clone();
        let mut refused = self.unverified.get();
        let ended = self.ended();
        let is_reason = |line: &&str| !line.starts_with("keyhole: caller-not-verified: ");
        let said = without_start(&ended.stderr);
        let rest: Vec<&str> = said.lines().filter(is_reason).collect();
        refused -= said.lines().count() - rest.len();
        let quiet = (Some(0), Vec::<Value>::new(), Vec::<&str>::new(), 0);
        let found = (ended.exit, ended.messages, rest, refused);
        assert_eq!(found, quiet, "{transcript}");
    }

    /// As [`Self::end`], if the server has something to say on standard error. Returns that.
    #[track_caller]
    pub fn ends_saying(mut self) -> String {
        self.hang_up();
        let ended = self.ended();
        let is_in_order = ended.exit == Some(0) && ended.messages.is_empty();
        assert!(is_in_order, "{ended:?}");
        ended.stderr
    }

    /// Waits until the server ends. Its input may still be open.
    #[track_caller]
    pub fn ended(self) -> Ended {
        self.ended_after(|_| {})
    }

    /// As [`Self::ended`], if a signal came while answers were on their way: the last
    /// line may be cut off, and is then left out.
    #[track_caller]
    pub fn ended_with_half_an_answer(self) -> Ended {
        self.ended_after(|lines| {
            lines.pop_if(|line| !line.ends_with(b"\n"));
        })
    }

    #[track_caller]
    fn ended_after(mut self, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Ended {
        let mut end = match self.process.end() {
            Ok(end) => end,
            Err(hung) => self.fail(hung),
        };
        change(&mut end.stdout);
        for line in &end.stdout {
            self.transcript.note("<-", line);
        }
        let mut messages: Vec<Value> = self.early.values().cloned().collect();
        messages.extend(end.stdout.iter().map(|line| self.parse(line)));
        Ended {
            exit: end.status.code(),
            messages,
            stderr: String::from_utf8_lossy(&end.stderr).into_owned(),
        }
    }

    /// The server does not start. Returns what it says on standard error.
    #[track_caller]
    pub fn does_not_start(self) -> String {
        let ended = self.ended();
        assert!(
            ended.exit == Some(1) && ended.messages.is_empty(),
            "{ended:?}"
        );
        ended.stderr
    }

    /// A line of standard output, which carries JSON-RPC and nothing else.
    #[track_caller]
    fn parse(&self, line: &[u8]) -> Value {
        match serde_json::from_slice::<Value>(line) {
            Ok(message) if message["jsonrpc"] == "2.0" && line.ends_with(b"\n") => {
                let text = message["result"]["content"][0]["text"].as_str();
                let is_unverified =
                    text.is_some_and(|text| text.starts_with("caller-not-verified: "));
                self.unverified
                    .update(|count| count + usize::from(is_unverified));
                message
            }
            _ => self.fail("JSON-RPC, one message a line"),
        }
    }

    fn wrap(&self, message: Value) -> Answer {
        Answer {
            message,
            protocol: self.protocol,
            transcript: self.transcript.clone(),
        }
    }

    #[track_caller]
    fn fail(&self, expected: &str) -> ! {
        panic!("expected {expected}{}", self.transcript)
    }
}
