//! `keyhole demo`: a whole session, for a person to watch.
//!
//! It starts this program as `serve` on a map and files in a temporary directory,
//! and speaks MCP with it through its standard streams, as any client would.
//! Nothing is simulated: every line that it shows was sent or received.

mod session;

use crate::{limits::Limits, os, sandbox::COMPONENT_WIT};
use anstream::stdout;
use anstyle::{AnsiColor, Style};
use serde_json::json;
use session::Session;
use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

/// Why the demo stopped early.
#[derive(Debug, thiserror::Error)]

pub(crate) enum DemoError {
    /// A file, the screen or the server's process failed.
    #[error("the demo stopped early: {0}")]
    Io(#[from] io::Error),
    /// The server answered something that is not JSON-RPC.
    #[error("the demo stopped early: the server's answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    /// The server did not answer as expected.
    #[error("the demo stopped early: expected {expected}, but got the answer above")]
    Unexpected {
        /// What the step should have shown.
        expected: &'static str,
    },
}

const HEAD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const SENT: Style = AnsiColor::Cyan.on_default();
const RECEIVED: Style = AnsiColor::Green.on_default();

const GOOD: &str = "k-3f9c27e1b6a84d05";
const CATALOG: &str = "# Identifiers to look for\n\n- Jane Q. Example\n- jane@example.org\n";

/// What is refused, and why: the key, the code, and the reason.
const REFUSALS: [(&str, &str, &str); 7] = [
    ("k-guessed", "unknown-key", "a key that is not in the map"),
    (
        "k-missing-file",
        "not-found",
        "a key whose file was deleted",
    ),
    (
        "k-not-markdown",
        "not-markdown",
        "a key that was mapped to a shell script",
    ),
    (
        "k-directory",
        "not-a-file",
        "a key that was mapped to a directory",
    ),
    ("k-too-large", "too-large", "a file over its limit"),
    ("k-not-text", "not-utf8", "a file that is not text"),
    (
        "k-outside",
        "outside-root",
        "a link inside the root that leads out of it",
    ),
];

/// Runs the demo on standard output.
///
/// # Errors
/// [`DemoError`]. It is an error if the server does not do what the demo says, so
/// the demo is a test as well.
pub(crate) fn run() -> Result<(), DemoError> {
    let home = tempfile::Builder::new().prefix("keyhole-demo-").tempdir()?;
    // The map has to name the real path.
    let place = os::plain_path(home.path().canonicalize()?);
    let map = lay_out(&place)?;

    head("1. The map: opaque keys to Markdown files. Only the user writes it.")?;
    show(&fs::read_to_string(&map)?)?;

    head("2. A client connects and asks what there is: one tool, and not one key.")?;
    let mut session = Session::start(&map)?;
    session.request(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "keyhole-demo", "version": env!("CARGO_PKG_VERSION") },
        }),
    )?;
    session.notify("notifications/initialized")?;
    let tools = session.request("tools/list", json!({}))?;
    expect(
        tools["result"]["tools"]
            .as_array()
            .is_some_and(|tools| tools.len() == 1),
        "one tool",
    )?;

    head("3. A subagent that carries the key gets the file, byte for byte.")?;
    let answer = session.load(GOOD)?;
    expect(
        answer["result"]["content"][0]["text"] == CATALOG,
        "the file",
    )?;

    head("4. Everything else is refused, with a code that names no file and no key.")?;
    for (key, code, why) in REFUSALS {
        say(why)?;
        refused(&session.load(key)?, code)?;
    }

    head("5. A call that is not quite right is no call at all.")?;
    say("a parameter that does not exist")?;
    let answer = session.request(
        "tools/call",
        json!({ "name": "load_context", "arguments": { "key": GOOD, "path": "/etc/passwd" } }),
    )?;
    expect(answer["error"]["code"] == -32602, "a protocol error")?;

    head("6. The map is live: what the user changes counts from the next call on.")?;
    say("the key is taken out of the map")?;
    fs::write(&map, "[keys]\n")?;
    refused(&session.load(GOOD)?, "unknown-key")?;
    say("the map is broken")?;
    fs::write(&map, "[keys\n")?;
    refused(&session.load(GOOD)?, "map-invalid")?;
    say("the map is deleted")?;
    fs::remove_file(&map)?;
    refused(&session.load(GOOD)?, "map-missing")?;
    session.end()?;

    head("7. What the sandbox was given for each call")?;
    given()?;

    head("Your own map")?;
    show(OWN_MAP)
}

#[cfg(windows)]
const OWN_MAP: &str = "\
mkdir \"%APPDATA%\\keyhole\"
keyhole setup key \"%USERPROFILE%\\notes\\identifiers.md\" >> \"%APPDATA%\\keyhole\\context-map.toml\"
keyhole check
claude mcp add keyhole -- keyhole serve
";

#[cfg(unix)]
const OWN_MAP: &str = "\
map=\"${XDG_CONFIG_HOME:-$HOME/.config}/keyhole/context-map.toml\"
(umask 077; mkdir -p \"${map%/*}\" &&
  keyhole setup key ~/notes/identifiers.md >>\"$map\")
keyhole check
claude mcp add keyhole -- keyhole serve
";

/// Makes the files and the map, and returns the map's path.
fn lay_out(home: &Path) -> Result<std::path::PathBuf, DemoError> {
    let notes = home.join("notes");
    fs::create_dir(&notes)?;
    fs::create_dir(notes.join("directory.md"))?;
    fs::write(notes.join("identifiers.md"), CATALOG)?;
    fs::write(notes.join("run.sh"), "#!/bin/sh\n")?;
    fs::write(notes.join("large.md"), "x".repeat(2000))?;
    fs::write(notes.join("latin1.md"), b"caf\xe9\n")?;
    fs::write(home.join("outside.md"), "not for anybody\n")?;
    // Not every user of Windows may make a link.
    let outside = match os::link("../outside.md", &notes.join("link.md")) {
        Ok(()) => "notes/link.md",
        Err(_) if cfg!(windows) => "outside.md",
        Err(error) => return Err(error.into()),
    };
    let map = home.join("context-map.toml");
    fs::write(
        &map,
        format!(
            "roots = [{}]\n\n[keys]\n\
             \"{GOOD}\" = \"notes/identifiers.md\"\n\
             \"k-missing-file\" = \"notes/deleted.md\"\n\
             \"k-not-markdown\" = \"notes/run.sh\"\n\
             \"k-directory\" = \"notes/directory.md\"\n\
             \"k-too-large\" = {{ path = \"notes/large.md\", max_bytes = 1000 }}\n\
             \"k-not-text\" = \"notes/latin1.md\"\n\
             \"k-outside\" = \"{outside}\"\n",
            json!(notes.to_string_lossy())
        ),
    )?;
    os::make_private(&map)?;
    Ok(map)
}

/// Shows what a call can reach and use, from the component's bytes and the limits.
fn given() -> Result<(), DemoError> {
    let limits = Limits::default();
    say("imports, read from the component's own bytes (`keyhole contract` shows them whole):")?;
    for import in COMPONENT_WIT
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("import "))
    {
        let note = match import.contains("wasi:clocks") {
            true => "  (a type only: it has no function)",
            false => "",
        };
        show(&format!("{import}{note}\n"))?;
    }
    show(&format!(
        "one key; one grant; one directory, in which there is one name, to read\n\
         {} s of time, {} MiB of memory, {} handles\n\
         no arguments, environment, clocks, random numbers, sockets or standard streams\n",
        limits.deadline.as_secs(),
        limits.memory_bytes >> 20,
        limits.handles,
    ))
}

fn refused(answer: &serde_json::Value, code: &'static str) -> Result<(), DemoError> {
    let result = &answer["result"];
    let as_it_should = result["isError"] == true && result["structuredContent"]["code"] == code;
    expect(as_it_should, code)
}

fn expect(holds: bool, expected: &'static str) -> Result<(), DemoError> {
    holds
        .then_some(())
        .ok_or(DemoError::Unexpected { expected })
}

fn head(text: &str) -> Result<(), DemoError> {
    Ok(writeln!(stdout(), "\n{HEAD}{text}{HEAD:#}")?)
}

fn say(text: &str) -> Result<(), DemoError> {
    Ok(writeln!(stdout(), "  {FAINT}# {text}{FAINT:#}")?)
}

fn show(text: &str) -> Result<(), DemoError> {
    let mut out = stdout().lock();
    for line in text.lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}
