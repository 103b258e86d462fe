//! What keyhole does, for a person to watch: `./x demo`.
//!
//! It plays Claude Code with the plugin, on a map and files in a temporary directory: it asks the
//! plugin's hook, speaks MCP with the server, and gives a report to be compared. Nothing is
//! simulated but the client: each answer is the program's own. The program is the one that the
//! argument names, else the one that cargo has built.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "a client of the program and no part of it: it makes its own files, and starts the server"
)]

mod session;

use serde_json::{Value, json};
use session::Session;
use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// The agent's key, and one that is for any caller.
const KEY: &str = "k-3f9c27e1b6a84d05";
const OPEN: &str = "k-91d4c07be25f3a68";
const CATALOG: &str = "# Identifiers to look for\n\n- Jane Q. Example\n- jane@example.org\n";
const AGENT: &str = "keyhole:privacy-scanner";
/// The client's names for the agent and its call.
const IDS: [&str; 2] = ["a3f29c07b1d4e8560", "toolu_1"];

/// What the agent reports: a place, and what it found there.
const REPORT: &str = "src/list.txt:12 has Jane Q. Example, who is in the list.";

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

#[expect(
    clippy::too_many_lines,
    reason = "one session, told from its start to its end"
)]
fn run(program: &Path) -> Result {
    // What is made here, others may not change.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let home = tempfile::Builder::new().prefix("keyhole-demo-").tempdir()?;
    // The map has to name the real path.
    let place = home.path().canonicalize()?;
    let map = lay_out(&place)?;
    // As the plugin's start does.
    let data = place.join("data");
    fs::create_dir(&data)?;
    let mut tickets = Command::new(program);
    tickets.arg("tickets").env("CLAUDE_PLUGIN_DATA", &data);
    expect(tickets.status()?.success(), "a folder for tickets")?;

    head("1. You have a private file, and an agent that needs it.")?;
    show(CATALOG)?;
    say("a map of your own says who gets it; its other entries come below")?;
    let text = fs::read_to_string(&map)?;
    show(text.split_once("\n[keys.\"k-9").ok_or("no map")?.0)?;

    head("2. The agent asks for it. Claude Code first asks keyhole's hook who is calling.")?;
    let ask = |words: &[&str], input: &Value| ask(program, words, &map, &data, input);
    let [id, call] = IDS;
    let records = place.join("session/subagents");
    fs::create_dir_all(&records)?;
    fs::write(records.join(format!("agent-{id}.meta.json")), "{}")?;
    let mut question = json!({
        "hook_event_name": "PreToolUse",
        "tool_name": "mcp__plugin_keyhole_context__load_context",
        "tool_input": { "key": KEY },
        "tool_use_id": call,
        "transcript_path": place.join("session.jsonl"),
        "agent_id": id,
        "agent_type": AGENT,
    });
    let mut session = Session::start(program, &map, Some(&data))?;
    let decision = |answer: &Value| answer["hookSpecificOutput"]["permissionDecision"].clone();
    expect(decision(&ask(&["guard"], &question)?) == "allow", "allow")?;
    said("the hook", "allow")?;
    let answer = session.load(KEY, Some(call))?;
    expect(answer["content"][0]["text"] == CATALOG, "the file")?;
    said("the agent gets", CATALOG)?;

    head("3. The main conversation makes the same call.")?;
    question["agent_id"].take();
    question["tool_use_id"] = "toolu_2".into();
    expect(decision(&ask(&["guard"], &question)?) == "deny", "deny")?;
    said("the hook", "deny")?;
    say("and if no hook runs, the server knows no caller")?;
    let code = refused(&session.load(KEY, Some("toolu_2"))?, "caller-not-verified")?;
    said("the main conversation gets", code)?;
    session.end()?;

    head("4. The agent reports, and its report quotes the file.")?;
    said("the agent writes", REPORT)?;
    let report = json!({ "agent": AGENT, "report": REPORT, "folder": "/src" });
    let answer = ask(&["withhold"], &report)?;
    let left = answer["report"].as_str().ok_or("no report")?;
    expect(
        left.contains("src/list.txt:12") && !left.contains("Jane"),
        "no quotation",
    )?;
    said("the main conversation gets", left)?;

    head("5. In any other client, the key decides. Its messages, and the answers:")?;
    let mut session = Session::start(program, &map, None)?;
    let tools = session.request("tools/list", json!({}))?;
    let tools = tools["tools"].as_array();
    expect(tools.is_some_and(|tools| tools.len() == 1), "one tool")?;
    let answer = session.load(OPEN, None)?;
    expect(answer["content"][0]["text"] == CATALOG, "the file")?;
    session.is_shown = false;

    head("6. Everything else is refused, with a code that names no file and no key.")?;
    for row in REFUSALS.lines() {
        let (key, rest) = row.split_once(' ').ok_or("no code")?;
        let (code, why) = rest.split_once(' ').ok_or("no reason")?;
        said(why, refused(&session.load(key, None)?, code)?)?;
    }
    let changes = [
        ("the key is taken out of the map", "", "unknown-key"),
        ("the map is broken", "[keys\n", "map-invalid"),
    ];
    for (why, text, code) in changes {
        fs::write(&map, text)?;
        said(why, refused(&session.load(OPEN, None)?, code)?)?;
    }
    session.end()?;

    head("7. What can open a file in a call is a component in a sandbox. All that it may use:")?;
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

/// Asks one of the program's hooks, as the client does.
fn ask(program: &Path, words: &[&str], map: &Path, data: &Path, input: &Value) -> Result<Value> {
    let mut hook = Command::new(program);
    hook.args(words).arg("--map").arg(map);
    hook.env("CLAUDE_PLUGIN_DATA", data);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let stdin = hook.stdin.take().ok_or("no standard input")?;
    serde_json::to_writer(stdin, input)?;
    Ok(serde_json::from_slice(&hook.wait_with_output()?.stdout)?)
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
             [keys.\"{KEY}\"]\npath = \"notes/identifiers.md\"\nagents = [\"{AGENT}\"]\nwithhold = true\n\n\
             [keys.\"{OPEN}\"]\npath = \"notes/identifiers.md\"\n\
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

/// The code of an answer that is to be a refusal with this code.
fn refused<'a>(answer: &Value, code: &'a str) -> Result<&'a str> {
    let as_it_should = answer["isError"] == true && answer["structuredContent"]["code"] == code;
    expect(as_it_should, code)?;
    Ok(code)
}

fn expect(holds: bool, expected: &str) -> Result {
    let wrong = || format!("expected {expected}, but got something else").into();
    holds.then_some(()).ok_or_else(wrong)
}

fn head(text: &str) -> Result {
    shown(&format!("\n{text}\n"))
}

fn say(text: &str) -> Result {
    shown(&format!("  # {text}\n"))
}

/// Who says what.
fn said(who: &str, what: &str) -> Result {
    if what.contains('\n') {
        shown(&format!("  {who}:\n"))?;
        return show(what);
    }
    shown(&format!("  {who}: {what}\n"))
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
