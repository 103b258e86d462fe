//! Any bytes as a client's whole session, in one process.
//!
//! What must hold: the session ends in order; the output is JSON-RPC, one message a
//! line, at most one for each line of input; every valid request gets an answer; no path
//! and no neighbour's document comes out, and the document comes out only if its key
//! went in.
#![no_main]

use keyhole_core::{Caller, LiveMap, Loader, Location, limits::Limits, sandbox::Sandbox};
use keyhole_mcp::{Surface, run_session};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt,
    sync::{Arc, LazyLock},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    runtime::{Builder, Runtime},
};

/// The key. The corpus has it, so that the fuzzer knows it.
const KEY: &str = "k-valid";
const DOCUMENT: &str = "THE DOCUMENT";
/// The fields of a request.
const FIELDS: [&str; 3] = ["\"id\"", "\"method\"", "\"params\""];
/// A word in the tree's path, and in a document whose key is never sent.
const MARKER: &str = "hunter2";

struct Server {
    runtime: Runtime,
    loader: Arc<Loader<LiveMap, Sandbox>>,
    _tree: TempDir,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let tree = tempfile::Builder::new().prefix(MARKER).tempdir().unwrap();
    let map = tree.path().join("map.toml");
    fs::write(
        &map,
        format!("[keys]\n{KEY} = 'a.md'\nk-neighbour-0123456789abcdef = 'b.md'\n"),
    )
    .unwrap();
    fs::set_permissions(&map, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(tree.path().join("a.md"), DOCUMENT).unwrap();
    fs::write(tree.path().join("b.md"), MARKER).unwrap();
    let location = Location::find(Some(&map), |_| None).unwrap();
    let limits = Limits::default();
    let live = LiveMap::new(location);
    let sandbox = Sandbox::embedded(limits).unwrap();
    Server {
        runtime: Builder::new_current_thread().enable_all().build().unwrap(),
        loader: Arc::new(Loader::new(live.into(), sandbox, limits)),
        _tree: tree,
    }
});

fuzz_target!(|data: &[u8]| {
    let answers = SERVER.runtime.block_on(session(data));
    let text = String::from_utf8(answers).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'));
    if !contains(data, MARKER) {
        assert!(!text.contains(MARKER));
    }
    if text.contains(DOCUMENT) && !contains(data, DOCUMENT) {
        assert!(contains(data, KEY) || contains(data, "\\u"));
    }

    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(message.get("result").is_some() != message.get("error").is_some());
        *answers.entry(message["id"].to_string()).or_default() += 1;
    }
    let lines = data.split(|byte| *byte == b'\n');
    assert!(text.lines().count() <= lines.clone().count());

    // A cancelled request may have an answer or none, so the test cannot count.
    if contains(data, "cancelled") || contains(data, "\\u") {
        return;
    }
    for (id, requests) in valid(lines) {
        assert!(answers.get(&id) >= Some(&requests), "no answer to {id}");
    }
});

/// Everything that a client gets if it sends `data` and closes its end.
async fn session(data: &[u8]) -> Vec<u8> {
    let (mut to, stdin) = duplex(1 << 16);
    let (stdout, mut from) = duplex(1 << 16);
    let mut answers = Vec::new();
    let served = run_session(
        Arc::clone(&SERVER.loader),
        Caller::Nobody,
        Surface::general(),
        stdin,
        stdout,
    );
    let send = async move {
        // The server may end first.
        let _ = to.write_all(data).await;
    };
    let (served, (), read) = tokio::join!(served, send, from.read_to_end(&mut answers));
    served.expect("an orderly end");
    read.expect("in memory");
    answers
}

/// How many requests there are for each id.
fn valid<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HashMap<String, usize> {
    let mut requests = HashMap::new();
    for line in lines {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let text = String::from_utf8_lossy(line);
        // A message with one of these twice is ignored.
        if FIELDS.iter().any(|field| text.matches(field).count() > 1) {
            continue;
        }
        let id = &message["id"];
        let is_request = message["jsonrpc"] == "2.0"
            && message["method"].is_string()
            && (id.is_i64() || id.is_string())
            && message.get("result").is_none()
            && message.get("error").is_none();
        if is_request {
            *requests.entry(id.to_string()).or_default() += 1;
        }
    }
    requests
}

fn contains(data: &[u8], text: &str) -> bool {
    data.windows(text.len()).any(|part| part == text.as_bytes())
}
