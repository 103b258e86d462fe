//! A whole session, for a person to watch: `./x demo`.
//!
//! It starts the program as `serve` on a map and files in a temporary directory, and
//! speaks MCP with it through its standard streams, as any client would. Nothing is
//! simulated: every line that it shows was sent or received. The program is the one that
//! the argument names, else the one that cargo has built.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "a client of the program and no part of it: it makes its own files, and starts the server"
)]

mod session;

use serde_json::json;
use session::Session;
use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const GOOD: &str = "k-3f9c27e1b6a84d05";
const CATALOG: &str = "# Identifiers to look for\n\n- Jane Q. Example\n- jane@example.org\n";

/// What is refused, and why: the key, the code, and the reason.
const REFUSALS: &str = "\
k-guessed unknown-key a key that is not in the map
k-missing-file not-found a key whose file was deleted
k-not-markdown not-markdown a key that was mapped to a shell script
k-directory not-a-file a key that was mapped to a directory
k-too-large too-large a file over its limit
k-not-text not-utf8 a file that is not text
k-outside outside-root a link inside the root that leads out of it";

/// It fails if the server does not do what is said here, so this is a test as well.
fn main() -> ExitCode {
    match program().and_then(|program| run(&program)) {
        // Its reader has seen enough, such as `head`.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "demo: stopped early: {error}");
            ExitCode::FAILURE
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The program to show. Cargo puts an example into a directory beside it.
fn program() -> Result<PathBuf> {
    if let Some(named) = env::args_os().nth(1) {
        return Ok(named.into());
    }
    let example = env::current_exe()?;
    let built = example.ancestors().nth(2).unwrap_or(Path::new("."));
    let program = built.join("keyhole");
    match program.exists() {
        true => Ok(program),
        false => Err("keyhole is not built yet; use `./x demo`, or name a program".into()),
    }
}

fn run(program: &Path) -> Result {
    // What is made here, others may not change.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let home = tempfile::Builder::new().prefix("keyhole-demo-").tempdir()?;
    // The map has to name the real path.
    let place = home.path().canonicalize()?;
    let map = lay_out(&place)?;

    head("1. The map: opaque keys to Markdown files. Only the user writes it.")?;
    show(&fs::read_to_string(&map)?)?;

    head("2. A client connects and asks what there is: one tool, and not one key.")?;
    let mut session = Session::start(program, &map)?;
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
    for row in REFUSALS.lines() {
        let (key, rest) = row.split_once(' ').ok_or("no code")?;
        let (code, why) = rest.split_once(' ').ok_or("no reason")?;
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
    say("`keyhole contract` reads it from the component's own bytes")?;
    let contract = Command::new(program).args(["contract"]).output()?;
    let contract = String::from_utf8(contract.stdout)?;
    let lines = contract.lines().map(str::trim);
    let imports: Vec<&str> = lines.filter(|line| line.starts_with("import ")).collect();
    expect(!imports.is_empty(), "the component's imports")?;
    show(&imports.join("\n"))?;

    head("Your own map")?;
    own_map(program)
}

/// By its path: nobody has installed it yet.
fn own_map(program: &Path) -> Result {
    say("it asks for the client and the file, and shows what it will write")?;
    let command = keyhole_setup::paste::command(program, "setup");
    show(&command.unwrap_or_else(|| "keyhole setup".to_owned()))
}

/// Makes the files and the map, and returns the map's path.
fn lay_out(home: &Path) -> Result<PathBuf> {
    let notes = home.join("notes");
    fs::create_dir(&notes)?;
    fs::create_dir(notes.join("directory.md"))?;
    fs::write(notes.join("identifiers.md"), CATALOG)?;
    fs::write(notes.join("run.sh"), b"#!/bin/sh\n")?;
    fs::write(notes.join("large.md"), [b'x'; 2000])?;
    fs::write(notes.join("latin1.md"), b"caf\xe9\n")?;
    fs::write(home.join("outside.md"), b"not for anybody\n")?;
    symlink("../outside.md", notes.join("link.md"))?;
    let map = home.join("context-map.toml");
    fs::write(
        &map,
        format!(
            "roots = [{}]\n\n\
             [keys.\"{GOOD}\"]\npath = \"notes/identifiers.md\"\n\
             [keys.\"k-missing-file\"]\npath = \"notes/deleted.md\"\n\
             [keys.\"k-not-markdown\"]\npath = \"notes/run.sh\"\n\
             [keys.\"k-directory\"]\npath = \"notes/directory.md\"\n\
             [keys.\"k-too-large\"]\npath = \"notes/large.md\"\nmax_bytes = 1000\n\
             [keys.\"k-not-text\"]\npath = \"notes/latin1.md\"\n\
             [keys.\"k-outside\"]\npath = \"notes/link.md\"\n",
            json!(notes.to_string_lossy())
        ),
    )?;
    Ok(map)
}

fn refused(answer: &serde_json::Value, code: &'static str) -> Result {
    let result = &answer["result"];
    let as_it_should = result["isError"] == true && result["structuredContent"]["code"] == code;
    expect(as_it_should, code)
}

fn expect(holds: bool, expected: &'static str) -> Result {
    let wrong = || format!("expected {expected}, but got the answer above").into();
    holds.then_some(()).ok_or_else(wrong)
}

fn head(text: &str) -> Result {
    shown(&format!("\n{text}\n"))
}

fn say(text: &str) -> Result {
    shown(&format!("  # {text}\n"))
}

fn show(text: &str) -> Result {
    let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
    shown(&lines)
}

fn shown(text: &str) -> Result {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
