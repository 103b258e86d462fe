//! The programs that the client waits for before a call: the launcher, and the guard.

use keyhole_benches::files::{Files, SMALL_KEY};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// The plugin, relative to the repository's root: how the client starts its server, and
/// what it runs when a session starts.
const START: &str = "plugin/start.sh";
const SERVERS: &str = "plugin/.mcp.json";
const HOOKS: &str = "plugin/hooks/hooks.json";

/// The table of systems, with the names that the launcher may ask for.
const SYSTEMS: &str = include_str!("../../release/systems.txt");

/// Names in the results.
pub(crate) const EMPTY: &str = "empty program";
pub(crate) const LAUNCHER: &str = "launcher";
pub(crate) const GUARD: &str = "guard";

/// An empty program, and a plugin that has it instead of the server.
pub(crate) struct Hooks {
    root: PathBuf,
    data: PathBuf,
    empty: PathBuf,
    launcher: Vec<String>,
    guard: PathBuf,
    map: PathBuf,
}

impl Hooks {
    /// None if there is no C compiler that links statically.
    pub(crate) fn new(files: &Files, keyhole: &Path) -> Result<Option<Self>, Box<dyn Error>> {
        let (root, data) = (files.home().join("plugin"), files.home().join("data"));
        fs::create_dir_all(root.join("server"))?;
        let (source, empty) = (root.join("empty.c"), root.join("empty"));
        fs::write(&source, "int main(void) { return 0; }\n")?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O2", "-static", "-o"])
            .args([&empty, &source]);
        if !compiler
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|done| done.success())
        {
            return Ok(None);
        }
        let rows = SYSTEMS.lines().filter(|line| !line.starts_with('#'));
        for name in rows.filter_map(|row| row.split(' ').next()) {
            fs::copy(&empty, root.join("server").join(name))?;
        }
        fs::copy(START, root.join("start.sh"))?;
        let servers: Value = serde_json::from_slice(&fs::read(SERVERS)?)?;
        let server = &servers["mcpServers"]["context"];
        let words = server["args"].as_array().into_iter().flatten();
        let [root_text, data_text] = [root.display(), data.display()].map(|path| path.to_string());
        let launcher = [&server["command"]].into_iter().chain(words).map(|word| {
            let word = word.as_str()?.replace("${CLAUDE_PLUGIN_ROOT}", &root_text);
            Some(word.replace("${CLAUDE_PLUGIN_DATA}", &data_text))
        });
        let launcher: Option<Vec<_>> = launcher.collect();
        let hooks = Self {
            launcher: launcher.ok_or("the plugin's server has no command")?,
            root,
            data,
            empty,
            guard: keyhole.to_owned(),
            map: files.map(10),
        };
        // Only what comes after the installation is measured.
        let said: Value = serde_json::from_slice(&fs::read(HOOKS)?)?;
        let install = said["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str();
        for script in [
            "{ sha256sum server/* 2>/dev/null || shasum -a 256 server/*; } >manifest.sha256",
            install.ok_or("the plugin has no hook for a session's start")?,
        ] {
            hooks.timed(Command::new("sh").args(["-c", script]), None)?;
        }
        Ok(Some(hooks))
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
            "agent_id": "a3f29c07b1d4e8560",
            "agent_type": "keyhole:privacy-scanner",
        });
        let mut launcher = Command::new(&self.launcher[0]);
        launcher.args(&self.launcher[1..]);
        let mut guard = Command::new(&self.guard);
        guard.args(["guard", "--map"]).arg(&self.map);
        Ok([
            (EMPTY, self.timed(&mut Command::new(&self.empty), None)?),
            (LAUNCHER, self.timed(&mut launcher, None)?),
            (GUARD, self.timed(&mut guard, Some(&question.to_string()))?),
        ])
    }

    /// The time from before the start to the end, in milliseconds.
    fn timed(&self, command: &mut Command, input: Option<&str>) -> io::Result<f64> {
        command
            .current_dir(&self.root)
            .env("CLAUDE_PLUGIN_ROOT", &self.root)
            .env("CLAUDE_PLUGIN_DATA", &self.data)
            .stdin(input.map_or_else(Stdio::null, |_| Stdio::piped()))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn()?;
        if let Some((mut to, input)) = child.stdin.take().zip(input) {
            to.write_all(input.as_bytes())?;
        }
        let status = child.wait()?;
        let took = began.elapsed();
        match status.success() {
            true => Ok(took.as_secs_f64() * 1e3),
            false => Err(io::Error::other(format!("{command:?} failed"))),
        }
    }
}
