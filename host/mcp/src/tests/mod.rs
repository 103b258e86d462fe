//! Sessions over in-memory streams: what a client sends, and what it gets.

mod pending;
mod random;
mod rules;

use super::{Surface, run_session};
use keyhole_core::{Caller, Content, Load, Refusal, Target};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex},
    sync::Semaphore,
    time::timeout,
};

/// A limit against hangs. In all of these tests the clock stands still as long as a task
/// can run. So a slow machine uses up neither this limit nor the seconds for which a
/// session waits for answers at its end.
const PATIENCE: Duration = Duration::from_secs(10);

const DOCUMENT: &str = "# Title\r\n\n\u{feff}\"quoted\" \\ text, \u{1f511}\u{2028}\u{2029}\t  \n";

/// More than any test holds.
const PERMITS: usize = 10_000;

/// A fake loader. The key says what it does.
struct Fake {
    /// Lets `slow` calls go on, one for each permit.
    gate: Semaphore,
    /// One permit is taken for each call that loads now.
    loading: Semaphore,
    /// One is taken for each place that is held.
    places: Arc<Semaphore>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            gate: Semaphore::new(0),
            loading: Semaphore::new(PERMITS),
            places: Arc::new(Semaphore::new(PERMITS)),
        }
    }
}

impl Fake {
    /// The number of calls that load now.
    fn loading(&self) -> usize {
        PERMITS - self.loading.available_permits()
    }

    /// The number of places that are held now.
    fn held(&self) -> usize {
        PERMITS - self.places.available_permits()
    }
}

impl Load for Fake {
    async fn load(&self, target: Target, _: Caller) -> Result<Content, Refusal> {
        let Target::SentKey(key) = target else {
            return Err(Refusal::Internal);
        };
        let _loading = self.loading.acquire().await.unwrap();
        let text = match &key[..] {
            "document" => DOCUMENT.to_owned(),
            "big" => "x".repeat(100_000),
            "slow" => {
                self.gate.acquire().await.unwrap().forget();
                "slow".to_owned()
            }
            _ => return Err(Refusal::UnknownKey),
        };
        let place = Arc::clone(&self.places).acquire_owned().await;
        Ok(Content {
            text,
            permit: place.unwrap(),
        })
    }
}

/// A client and the session that serves it.
struct Client {
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    loader: Arc<Fake>,
}

impl Client {
    /// A client whose streams have as much room as any test needs.
    fn new() -> Self {
        Self::with_room(16 << 20, 16 << 20)
    }

    /// A client with this much room, in bytes, in the stream to the server and in
    /// the stream from it.
    fn with_room(to: usize, from: usize) -> Self {
        let (to, stdin) = duplex(to);
        let (stdout, from) = duplex(from);
        let loader = Arc::<Fake>::default();
        tokio::spawn(run_session(
            loader.clone(),
            Caller::Nobody,
            Surface::general(),
            stdin,
            stdout,
        ));
        Self {
            to,
            from: BufReader::new(from),
            loader,
        }
    }

    /// A client in a session that began with `initialize`.
    async fn initialized() -> Self {
        let mut client = Self::new();
        client.initialize().await;
        client
    }

    async fn initialize(&mut self) {
        self.send(initialize()).await;
        self.answer().await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    async fn send(&mut self, message: Value) {
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        let written = timeout(PATIENCE, self.to.write_all(bytes)).await;
        written.unwrap().unwrap();
    }

    async fn call(&mut self, id: impl Into<Value>, key: &str) {
        self.send(call(id, key)).await;
    }

    async fn cancel(&mut self, id: impl Into<Value>) {
        self.send(cancel(id)).await;
    }

    /// The next message from the server.
    async fn answer(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.from.read_line(&mut line)).await;
        read.unwrap().unwrap();
        assert!(line.ends_with('\n'), "half a line");
        let other_ends = ['\u{2028}', '\u{2029}'];
        assert!(!line.contains(other_ends), "some clients end the line here");
        serde_json::from_str(&line).unwrap()
    }

    /// The next message, which must be the answer to the call `id`, with this document.
    async fn is(&mut self, id: impl Into<Value>, document: &str) {
        let answer = self.answer().await;
        assert_eq!(answer["id"], id.into());
        assert_eq!(answer["result"]["content"][0]["text"], document);
    }

    /// Asserts that the server has sent nothing and that the session goes on: the
    /// next message is the answer to this call.
    async fn is_quiet(&mut self) {
        self.call("quiet?", "document").await;
        self.is("quiet?", DOCUMENT).await;
    }
}

/// Waits until `holds`.
async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it never holds");
}

/// Lets all tasks run as far as they can. The runtime has one thread.
async fn settle() {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

fn cancel(id: impl Into<Value>) -> Value {
    let params = json!({"requestId": id.into()});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

fn call(id: impl Into<Value>, key: &str) -> Value {
    let params = json!({"name": "load_context", "arguments": {"key": key}});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params})
}

/// `message` as a request of the stateless protocol.
fn stateless(mut message: Value) -> Value {
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message
}
