//! `keyhole demo`: a whole session, for a person to watch.
//!
//! It starts this program as `serve` on a map and files in a temporary directory,
//! and speaks MCP with it through its standard streams, as any client would.
//! Nothing is simulated: every line that it shows was sent or received.
#![expect(clippy::disallowed_methods, reason = "it makes its own files")]

mod session;

use crate::{arguments::Color, contract::granted, terminal};
use anstyle::{AnsiColor, Style};
use keyhole_core::hex;
use keyhole_walk::paths::plain_path;
use serde_json::json;
use session::Session;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Why the demo stopped early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Nothing can be shown.
    #[error("{0}")]
    Screen(String),
    /// A file or the server's process failed.
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
pub(crate) fn run(color: Color) -> Result<(), DemoError> {
    COLOR.get_or_init(|| color);
    let home = Home::new()?;
    // The map has to name the real path.
    let place = plain_path(&home.0.canonicalize()?);
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

    head("5. A call that is not quite right is told what to send, and nothing else.")?;
    say("a parameter that does not exist")?;
    let answer = session.request(
        "tools/call",
        json!({ "name": "load_context", "arguments": { "key": GOOD, "path": "/etc/passwd" } }),
    )?;
    expect(answer["result"]["isError"] == true, "an error of the tool")?;

    head("6. The map is live: what the user changes counts from the next call on.")?;
    say("the key is taken out of the map")?;
    fs::write(&map, "")?;
    refused(&session.load(GOOD)?, "unknown-key")?;
    say("the map is broken")?;
    fs::write(&map, "[keys\n")?;
    refused(&session.load(GOOD)?, "map-invalid")?;
    say("the map is deleted")?;
    fs::remove_file(&map)?;
    refused(&session.load(GOOD)?, "map-missing")?;
    session.end()?;

    head("7. What the sandbox was given for each call")?;
    say("read from the component's own bytes; `keyhole contract` says it of your map")?;
    show(&granted())?;

    head("Your own map")?;
    show(OWN_MAP)
}

#[cfg(windows)]
const OWN_MAP: &str = "\
mkdir \"%APPDATA%\\keyhole\"
keyhole setup key \"%USERPROFILE%\\notes\\identifiers.md\" >> \"%APPDATA%\\keyhole\\context-map.toml\"
keyhole check
keyhole setup
";

#[cfg(unix)]
const OWN_MAP: &str = "\
map=\"${XDG_CONFIG_HOME:-$HOME/.config}/keyhole/context-map.toml\"
(umask 077; mkdir -p \"${map%/*}\" &&
  keyhole setup key ~/notes/identifiers.md >>\"$map\")
keyhole check
keyhole setup
";

/// A new directory that only the user can enter. It is removed on drop.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self, DemoError> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let home = std::env::temp_dir().join(format!("keyhole-demo-{}", hex(&name)));
        make_private_directory(&home)?;
        Ok(Self(home))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes the files and the map, and returns the map's path.
fn lay_out(home: &Path) -> Result<PathBuf, DemoError> {
    let notes = home.join("notes");
    make_private_directory(&notes)?;
    make_private_directory(&notes.join("directory.md"))?;
    write_private(&notes.join("identifiers.md"), CATALOG.as_bytes())?;
    write_private(&notes.join("run.sh"), b"#!/bin/sh\n")?;
    write_private(&notes.join("large.md"), &[b'x'; 2000])?;
    write_private(&notes.join("latin1.md"), b"caf\xe9\n")?;
    write_private(&home.join("outside.md"), b"not for anybody\n")?;
    // Not every user of Windows may make a link.
    let outside = match link("../outside.md", &notes.join("link.md")) {
        Ok(()) => "notes/link.md",
        Err(_) if cfg!(windows) => "outside.md",
        Err(error) => return Err(error.into()),
    };
    let map = home.join("context-map.toml");
    write_private(
        &map,
        format!(
            "roots = [{}]\n\n\
             [keys.\"{GOOD}\"]\npath = \"notes/identifiers.md\"\n\
             [keys.\"k-missing-file\"]\npath = \"notes/deleted.md\"\n\
             [keys.\"k-not-markdown\"]\npath = \"notes/run.sh\"\n\
             [keys.\"k-directory\"]\npath = \"notes/directory.md\"\n\
             [keys.\"k-too-large\"]\npath = \"notes/large.md\"\nmax_bytes = 1000\n\
             [keys.\"k-not-text\"]\npath = \"notes/latin1.md\"\n\
             [keys.\"k-outside\"]\npath = \"{outside}\"\n",
            json!(notes.to_string_lossy())
        )
        .as_bytes(),
    )?;
    Ok(map)
}

#[cfg(unix)]
fn make_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// A file in the user's own directory for temporary files is accessible to nobody else.
#[cfg(windows)]
fn make_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[cfg(unix)]
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)
}

#[cfg(windows)]
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::write(path, content)
}

#[cfg(unix)]
fn link(target: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(windows)]
fn link(target: &str, at: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target.replace('/', "\\"), at)?;
    // Wine reports that it has made a link, but has not.
    at.symlink_metadata().map(drop)
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
    shown(&format!("\n{HEAD}{text}{HEAD:#}\n"))
}

fn say(text: &str) -> Result<(), DemoError> {
    shown(&format!("  {FAINT}# {text}{FAINT:#}\n"))
}

fn show(text: &str) -> Result<(), DemoError> {
    let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
    shown(&lines)
}

/// The colours that the user asked for.
static COLOR: OnceLock<Color> = OnceLock::new();

fn shown(text: &str) -> Result<(), DemoError> {
    let color = COLOR.get().copied().unwrap_or(Color::Auto);
    terminal::print(&terminal::colored(text, color)).map_err(DemoError::Screen)
}
