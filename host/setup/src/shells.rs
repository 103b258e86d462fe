//! Claude Code's own sandbox around each of its shells: what it costs, whether it can start on
//! this machine, and what setup adds to the settings for it. `keyhole_claude` judges settings.

use crate::json::Change;
use keyhole_claude::rules::Places;
use serde_json::Value;
use std::{
    env::split_paths,
    ffi::OsStr,
    io::{self, Write as _},
    process::{Command, ExitStatus, Stdio},
};

/// What the question is about.
pub const COSTS: &str = concat!(
    "Claude Code can run each shell command in its own sandbox, where your file is not there.\nIt has a price: `git add -A` fails, and `git status` lists twelve files that nobody made.\nWhat else fails, what to do about it, and how to undo it: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/shells.md"
);

/// What is said once it is on: of the settings of an administrator, which hold more.
pub const STRONGER: &str = concat!(
    "A project that you open can switch this sandbox off in its own settings. An administrator can prevent that: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/shells.md has the settings."
);

const NOT_INSTALLED: &str =
    "It needs bubblewrap and socat: install both, as packages of your system, and run setup again.";
const NOT_PERMITTED: &str = concat!(
    "bubblewrap may not make what it needs here: ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/shells.md says how to allow it. Then run setup again."
);

/// How the client starts bubblewrap (2.1.332): without a network, and inside once more,
/// with a filter of system calls.
const TRIAL_ARGUMENTS: [&str; 21] = [
    "--new-session",
    "--die-with-parent",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--unshare-pid",
    "--proc",
    "/proc",
    "--seccomp",
    "0",
    "--",
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--ro-bind",
    "/",
    "/",
    "true",
];
/// A filter that allows all: `BPF_RET`, `SECCOMP_RET_ALLOW` (linux/seccomp.h), as the processor
/// has it.
const FILTER_THAT_ALLOWS_ALL: (u16, u32) = (0x06, 0x7fff_0000);

/// Checks that Claude Code can start its sandbox for shells on this machine, with the programs on
/// this `PATH`. On macOS, it always can.
///
/// # Errors
/// What the user has to do, if `bwrap` (bubblewrap) or `socat` is not on the `PATH`, or if
/// bubblewrap may not do its work here.
pub(crate) fn sandbox_can_start(path: &OsStr) -> Result<(), &'static str> {
    // On macOS, the client uses what the system has.
    if cfg!(target_os = "macos") {
        return Ok(());
    }
    if !is_on_path(path, "bwrap") || !is_on_path(path, "socat") {
        return Err(NOT_INSTALLED);
    }
    match try_bubblewrap(path) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(NOT_PERMITTED),
    }
}

/// Whether a folder of this `PATH` has the program.
fn is_on_path(path: &OsStr, program: &str) -> bool {
    split_paths(path).any(|folder| folder.join(program).is_file())
}

/// Starts bubblewrap as the client does, around the program `true`, and returns how bubblewrap
/// ended: with success if it may do its work. It reads a filter of system calls from its standard
/// input. Here, the filter allows all.
///
/// # Errors
/// If bubblewrap cannot be started, or its end cannot be awaited.
fn try_bubblewrap(path: &OsStr) -> io::Result<ExitStatus> {
    let mut trial = Command::new("bwrap")
        .args(TRIAL_ARGUMENTS)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut pipe) = trial.stdin.take() {
        let (code, value) = FILTER_THAT_ALLOWS_ALL;
        // An instruction of a filter: its code, two jumps of no length, and its value.
        let filter = [&code.to_ne_bytes()[..], &[0; 2], &value.to_ne_bytes()].concat();
        // If bubblewrap ends before it reads this, its status says that it failed.
        let _ = pipe.write_all(&filter);
    }
    trial.wait()
}

/// The change that takes a pattern out of `sandbox.filesystem.allowRead` of these settings, which
/// setup wrote before 0.6.0. The pattern costs a mount for each long output that the client keeps.
/// None if the pattern is not there.
pub(crate) fn without_older_pattern(places: &Places, settings: &Value) -> Option<Change> {
    let outputs = Value::from(places.older_pattern_for_outputs());
    let listed = settings["sandbox"]["filesystem"]["allowRead"].as_array()?;
    if !listed.contains(&outputs) {
        return None;
    }
    let list = &["sandbox", "filesystem", "allowRead"];
    Some(Change::taking_out(list, vec![outputs]))
}
