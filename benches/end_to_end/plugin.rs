//! The programs that the client waits for before a call: the launcher, and the guard.

use keyhole_benches::files::{Files, SMALL_KEY};
use serde_json::json;
use std::{
    env::consts::{ARCH, OS},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// Relative to the repository's root.
const START: &str = "plugin/start.sh";

pub(crate) const EMPTY: &str = "an empty static program";
pub(crate) const LAUNCHER: &str = "launcher";
pub(crate) const GUARD: &str = "guard";

/// The id of the subagent whose call the guard judges.
const SUBAGENT: &str = "a3f29c07b1d4e8560";

/// A plugin that has an empty program instead of the server.
pub(crate) struct Plugin {
    root: PathBuf,
    data: PathBuf,
    empty: PathBuf,
    keyhole: PathBuf,
    map: PathBuf,
}

impl Plugin {
    /// None if there is no C compiler that links statically.
    pub(crate) fn new(files: &Files, keyhole: &Path) -> io::Result<Option<Self>> {
        let root = files.home().join("plugin");
        let plugin = Self {
            data: root.join("data"),
            empty: root.join(format!("server/keyhole-{OS}-{ARCH}")),
            keyhole: keyhole.to_owned(),
            map: files.map(10),
            root,
        };
        let records = plugin.root.join("session/subagents");
        for folder in [&plugin.data, &plugin.root.join("server"), &records] {
            fs::create_dir_all(folder)?;
        }
        // The guard looks for what the client keeps of a subagent.
        fs::write(records.join(format!("agent-{SUBAGENT}.meta.json")), "{}")?;
        fs::copy(START, plugin.root.join("start.sh"))?;
        let source = plugin.root.join("empty.c");
        fs::write(&source, "int main(void) { return 0; }\n")?;
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(["-O2", "-static", "-o"]);
        let compiled = compiler.args([&plugin.empty, &source]).output();
        Ok(compiled
            .is_ok_and(|done| done.status.success())
            .then_some(plugin))
    }

    /// Times in milliseconds, by their names.
    pub(crate) fn round(&self, round: usize) -> io::Result<[(&'static str, f64); 3]> {
        let question = json!({
            "session_id": "s",
            "hook_event_name": "PreToolUse",
            "tool_name": "mcp__plugin_keyhole_context__load_context",
            "tool_input": { "key": SMALL_KEY },
            // A call gets one ticket, and a second one is refused.
            "tool_use_id": format!("toolu_{round}"),
            "agent_id": SUBAGENT,
            "transcript_path": self.root.join("session.jsonl"),
            "agent_type": "keyhole:privacy-scanner",
        });
        let mut launcher = Command::new("sh");
        let serve = ["serve", "--require-ticket"];
        launcher.arg(self.root.join("start.sh"));
        launcher.arg(&self.data).args(serve);
        let mut guard = Command::new(&self.keyhole);
        guard.args(["guard", "--map"]).arg(&self.map);
        guard.env("CLAUDE_PLUGIN_DATA", &self.data);
        Ok([
            (EMPTY, timed(&mut Command::new(&self.empty), "")?),
            (LAUNCHER, timed(&mut launcher, "")?),
            (GUARD, timed(&mut guard, &question.to_string())?),
        ])
    }
}

/// The time from before the start to the end, in milliseconds.
fn timed(command: &mut Command, input: &str) -> io::Result<f64> {
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    let took = began.elapsed();
    match status.success() {
        true => Ok(took.as_secs_f64() * 1e3),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}
