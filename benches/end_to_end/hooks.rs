//! The programs that the client waits for before a call: the launcher, and the guard.

use crate::files::{Files, SMALL_KEY};
use serde_json::json;
use std::{
    error::Error,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The table of systems, with the names that the launcher may ask for.
const SYSTEMS: &str = include_str!("../../packaging/systems.txt");

/// An empty program, and a plugin that has it instead of the server.
pub(crate) struct Hooks {
    empty: PathBuf,
    launcher: PathBuf,
    data: PathBuf,
    guard: PathBuf,
    map: PathBuf,
}

/// Times of one round, in milliseconds.
pub(crate) struct Round {
    pub(crate) empty: f64,
    pub(crate) launcher: f64,
    pub(crate) guard: f64,
}

impl Hooks {
    /// None if there is no C compiler that links statically.
    pub(crate) fn new(
        files: &Files,
        keyhole: &Path,
        start: &Path,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let home = files.home().join("plugin");
        fs::create_dir_all(home.join("server"))?;
        let source = home.join("empty.c");
        fs::write(&source, "int main(void) { return 0; }\n")?;
        let empty = home.join("empty");
        let compiled = Command::new("cc")
            .args(["-O2", "-static", "-o"])
            .args([&empty, &source])
            .stderr(Stdio::null())
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let sum = sha256(&empty)?;
        let mut manifest = File::create(home.join("manifest.sha256"))?;
        let rows = SYSTEMS.lines().filter(|line| !line.starts_with('#'));
        for name in rows.filter_map(|row| row.split(' ').next()) {
            fs::copy(&empty, home.join("server").join(name))?;
            writeln!(manifest, "{sum}  server/{name}")?;
        }
        let launcher = home.join("start.sh");
        fs::copy(start, &launcher)?;
        let hooks = Self {
            empty,
            launcher,
            data: home.join("data"),
            guard: keyhole.to_owned(),
            map: files.map(10),
        };
        // Installs. Only the starts after the first are measured.
        hooks.launch()?;
        Ok(Some(hooks))
    }

    pub(crate) fn round(&self, round: usize) -> io::Result<Round> {
        Ok(Round {
            empty: timed(&mut Command::new(&self.empty), None)?,
            launcher: self.launch()?,
            guard: self.ask(round)?,
        })
    }

    fn launch(&self) -> io::Result<f64> {
        let mut command = Command::new("sh");
        command.arg(&self.launcher).arg(&self.data).arg("serve");
        timed(&mut command, None)
    }

    fn ask(&self, round: usize) -> io::Result<f64> {
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
        let mut command = Command::new(&self.guard);
        command
            .arg("guard")
            .arg("--map")
            .arg(&self.map)
            .env("CLAUDE_PLUGIN_DATA", &self.data);
        timed(&mut command, Some(question.to_string()))
    }
}

/// The time from before the start to the end, in milliseconds.
fn timed(command: &mut Command, input: Option<String>) -> io::Result<f64> {
    command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn()?;
    if let (Some(mut to), Some(input)) = (child.stdin.take(), input) {
        to.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    let took: Duration = began.elapsed();
    match status.success() {
        true => Ok(took.as_secs_f64() * 1e3),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}

fn sha256(file: &Path) -> Result<String, Box<dyn Error>> {
    let sum = |program: &str, arguments: &[&str]| {
        let out = Command::new(program)
            .args(arguments)
            .arg(file)
            .output()
            .ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        out.status
            .success()
            .then(|| text.split_whitespace().next().map(str::to_owned))?
    };
    sum("sha256sum", &[])
        .or_else(|| sum("shasum", &["-a", "256"]))
        .ok_or_else(|| "no program that makes SHA-256 sums".into())
}
