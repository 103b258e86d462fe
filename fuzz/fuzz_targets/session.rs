//! Any bytes as a client's whole session, in one process.
//!
//! What must hold: the session ends in order; the output is JSON-RPC, one message a
//! line, at most one for each line of input; every valid request gets an answer; no path
//! and no neighbour's document comes out, and the document comes out only if its key
//! went in.
#![no_main]

/// What holds in any session.
#[path = "../../host/mcp/src/tests/rules.rs"]
mod rules;

use keyhole_core::{Caller, LiveMap, Loader, Location, limits::Limits, sandbox::Sandbox};
use keyhole_mcp::{Surface, run_session};
use libfuzzer_sys::fuzz_target;
use std::{
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
    let got = SERVER.runtime.block_on(session(data));
    let answers = rules::answers(data, &got);
    if !contains(data, MARKER) {
        assert!(!contains(&got, MARKER));
    }
    if contains(&got, DOCUMENT) && !contains(data, DOCUMENT) {
        assert!(contains(data, KEY) || contains(data, "\\u"));
    }
    // A cancelled request may have an answer or none.
    if !contains(data, "cancelled") && !contains(data, "\\u") {
        let unanswered = rules::unanswered(data, &answers);
        assert!(unanswered.is_empty(), "no answer to {unanswered:?}");
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

fn contains(data: &[u8], text: &str) -> bool {
    data.windows(text.len()).any(|part| part == text.as_bytes())
}
