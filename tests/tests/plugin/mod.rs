//! The Claude Code plugin, as it is packaged. `tests/client` tests it with the client
//! itself.

mod agents;
mod guard;
pub(crate) mod launcher;
mod own_agent;
pub(crate) mod own_server;
mod package;
mod shell;

use keyhole_core::ticket::{Ticket, Tickets};
use keyhole_tests::{Answer, MARKER, Ran, Session, World, binary, workspace};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, LazyLock, Mutex, Weak},
};
use tempfile::TempDir;

/// What `./x release dist` makes of the program under test.
pub(crate) struct Package {
    temp: TempDir,
}

impl Package {
    pub(crate) fn new() -> Self {
        let package = Self { temp: temporary() };
        dist(&package.marketplace()).exits(0);
        package
    }

    /// One for all tests that only read it, as long as any of them has it.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Package>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let package = Arc::new(Self::new());
            *shared = Arc::downgrade(&package);
            package
        })
    }

    /// The folder that a user adds as a marketplace.
    pub(crate) fn marketplace(&self) -> PathBuf {
        self.temp.path().join("dist")
    }

    /// The plugin's root.
    pub(crate) fn plugin(&self) -> PathBuf {
        self.marketplace().join("plugin")
    }
}

/// The agent that the plugin brings.
const AGENT: &str = "keyhole:privacy-scanner";

/// The tool of the plugin's server that all agents share, as the client names it.
pub(crate) const TOOL: &str = "mcp__plugin_keyhole_context__load_context";

/// The id of the subagent in the questions.
const SUBAGENT: &str = "a3f29c07b1d4e8560";

/// The transcript of a session, beside which the client keeps a record of that subagent.
fn transcript() -> PathBuf {
    static SESSION: LazyLock<TempDir> = LazyLock::new(|| {
        let session = temporary();
        let records = session.path().join("session/subagents");
        fs::create_dir_all(&records).unwrap();
        fs::write(records.join(format!("agent-{SUBAGENT}.meta.json")), "{}").unwrap();
        session
    });
    SESSION.path().join("session.jsonl")
}

/// The client's question to the guard about a subagent's call of the shared tool.
pub(crate) fn question(id: &str, agent: &str, key: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse",
        "tool_name": TOOL,
        "tool_input": { "key": key },
        "tool_use_id": id,
        "agent_id": SUBAGENT,
        "agent_type": agent,
        "transcript_path": transcript(),
    })
}

/// Sets the environment of a user's client. The plugin's data folder is `data`.
pub(crate) fn in_home<'a>(command: &'a mut Command, world: &World) -> &'a mut Command {
    command
        .env("HOME", world.home())
        .env_remove("XDG_CONFIG_HOME")
        .env("CLAUDE_PLUGIN_DATA", world.path("data"))
}

/// Asks the guard, which must not repeat anything that is secret.
pub(crate) fn ask(world: &World, question: &Value) -> Ran {
    ask_of(world, &["guard"], question)
}

/// The same of a guard with these arguments.
fn ask_of(world: &World, guard: &[&str], question: &Value) -> Ran {
    let ran = world.run_with(guard.iter(), question.to_string().as_bytes());
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(MARKER), "{ran:?}");
    }
    ran
}

fn decision(ran: &Ran) -> String {
    let decision = &ran.json()["hookSpecificOutput"]["permissionDecision"];
    decision.as_str().unwrap().to_owned()
}

#[track_caller]
pub(crate) fn is_allowed(world: &World, question: &Value) {
    let ran = ask(world, question).exits(0);
    assert_eq!(decision(&ran), "allow", "{ran:?}");
}

/// Leaves a ticket without a key, as the guard would not.
pub(crate) fn leave(data: &Path, id: &str, agent: &str) {
    let ticket = Ticket {
        agent: agent.try_into().unwrap(),
        key: None,
    };
    let tickets = Tickets::in_folder(data.to_owned()).unwrap();
    tickets.leave(id, &ticket).unwrap();
}

/// A call with these arguments under the client's id.
pub(crate) fn call(session: &mut Session, arguments: Value, id: impl Into<Value>) -> Answer {
    session.request(
        "tools/call",
        json!({
            "name": "load_context",
            "arguments": arguments,
            "_meta": { "claudecode/toolUseId": id.into() },
        }),
    )
}

fn dist(out: &Path) -> Ran {
    let mut x = Command::new("./x");
    x.current_dir(workspace())
        .args(["release", "dist", "--server"])
        .arg(binary())
        .arg("--out")
        .arg(out);
    Ran::of(&mut x, b"")
}

/// A directory whose name would be visible in a message, and which breaks a script
/// that does not quote it.
pub(crate) fn temporary() -> TempDir {
    let temp = tempfile::Builder::new()
        .prefix(&format!("key hole's $x *-{MARKER}-"))
        .tempdir()
        .unwrap();
    // So that a test can let another user into a directory in it.
    mode(temp.path(), 0o711);
    temp
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
