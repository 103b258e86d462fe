//! Standard streams as clients leave them: some are not blocking, because the client's own
//! runtime made them so.

use keyhole_tests::{NOBODY, PATIENCE, Protocol, World};
use rustix::{
    fs::{OFlags, fcntl_setfl},
    process::geteuid,
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{Read as _, Write as _, pipe},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

#[derive(Clone, Copy, Debug)]
enum Streams {
    Pipes,
    /// As some runtimes start programs. None can be opened again.
    Sockets,
    OneSocket,
}

const ALL: [Streams; 3] = [Streams::Pipes, Streams::Sockets, Streams::OneSocket];

/// Some time, so that the other side has begun, and finds nothing to read, or no room to
/// write. If a busy machine takes longer, the test proves less, and does not fail.
const PAUSE: Duration = Duration::from_millis(400);

/// Runs a command whose client pauses before it writes and before it reads. Returns all that
/// the command wrote, and how it ended.
#[track_caller]
fn run(world: &World, arguments: &[&str], input: &[u8], streams: Streams) -> (String, Option<i32>) {
    let mut command = world.command(arguments);
    let (ours, theirs): ([OwnedFd; 2], [OwnedFd; 2]) = match streams {
        Streams::Pipes => {
            let ((stdin, to), (from, stdout)) = (pipe().unwrap(), pipe().unwrap());
            // The least that a pipe holds.
            rustix::pipe::fcntl_setpipe_size(&from, 4096).unwrap();
            ([to.into(), from.into()], [stdin.into(), stdout.into()])
        }
        Streams::Sockets => {
            let pair = || UnixStream::pair().unwrap();
            let ((to, stdin), (from, stdout)) = (pair(), pair());
            ([to.into(), from.into()], [stdin.into(), stdout.into()])
        }
        Streams::OneSocket => {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let again = |one: &UnixStream| one.try_clone().unwrap().into();
            ([again(&ours), ours.into()], [again(&theirs), theirs.into()])
        }
    };
    for stream in &theirs {
        fcntl_setfl(stream, OFlags::NONBLOCK).unwrap();
    }
    let [stdin, stdout] = theirs;
    command.stdin(stdin).stdout(stdout).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    // Its ends of the streams.
    drop(command);
    let [to, from] = ours;
    thread::sleep(PAUSE);
    // It may have ended without reading.
    let _ = File::from(to.try_clone().unwrap()).write_all(input);
    if let Streams::OneSocket = streams {
        UnixStream::from(to).shutdown(Shutdown::Write).unwrap();
    } else {
        drop(to);
    }
    thread::sleep(PAUSE);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = File::from(from).read_to_end(&mut bytes);
        tell.send(read.map(|_| bytes))
    });
    let said = told.recv_timeout(PATIENCE);
    let _ = if said.is_err() { child.kill() } else { Ok(()) };
    let ended = child.wait().unwrap().code();
    let said = said.expect("it ends").unwrap();
    (String::from_utf8(said).unwrap(), ended)
}

/// A user with a document that no pipe holds, and one for an agent.
fn world() -> World {
    let lines: String = (2..100)
        .map(|n| format!("k-7f3a9c55aa01-{n} = '~/2.md'\n"))
        .collect();
    World::new()
        .file("1.md", document())
        .file("2.md", "2")
        .file("a.md", "a\n".repeat(4_000))
        .plugin_data()
        .map(format!(
            "[keys]\nk-7f3a9c55aa01-1 = '~/1.md'\n{lines}k-a = {{ path = '~/a.md', agents = ['a'] }}\n"
        ))
}

fn document() -> String {
    "0123456789abcde\n".repeat(60_000)
}

#[track_caller]
fn whole_session(world: &World, streams: Streams) {
    let lines = Protocol::session(&[Protocol::Initialize.call(2, "k-7f3a9c55aa01-1")]);
    let (said, exit) = run(world, &["serve"], lines.as_bytes(), streams);
    let last = said.lines().last().unwrap_or_default();
    let answer: Value = serde_json::from_str(last).unwrap_or_default();
    let text = &answer["result"]["content"][0]["text"];
    let is_whole = text.as_str() == Some(&*document());
    assert!(is_whole, "{streams:?}: {} bytes", said.len());
    assert_eq!(exit, Some(0), "{streams:?}");
}

#[test]
fn a_session_over_streams_that_do_not_block_is_whole() {
    for streams in ALL {
        whole_session(&world(), streams);
    }
}

/// A pipe that another user made cannot be opened again.
#[test]
fn a_session_over_another_users_pipes_is_whole() {
    if !geteuid().is_root() {
        return keyhole_tests::skipped("needs root");
    }
    whole_session(&world().run_by(NOBODY), Streams::Pipes);
}

#[test]
fn every_command_reads_and_writes_over_streams_that_do_not_block() {
    let world = world();
    let question = json!({
        "hook_event_name": "PreToolUse",
        "tool_name": "mcp__plugin_keyhole_context__load_context",
        "tool_use_id": "toolu_1",
        "tool_input": { "key": "k-7f3a9c55aa01-1" },
    });
    let after = json!({ "hook_event_name": "PostToolUse" });
    let start = json!({
        "hook_event_name": "SubagentStart",
        "agent_id": "a3f29c07b1d4e8560",
        "agent_type": "a",
    });
    for (arguments, input) in [
        (&["guard"][..], question.to_string()),
        (&["guard", "--after"], after.to_string()),
        (&["inject"], start.to_string()),
        (&["check"], String::new()),
        (&["check", "--json"], String::new()),
        (&["contract"], String::new()),
        (&["setup", "claude-code"], String::new()),
        (&["serve", "--help"], String::new()),
    ] {
        let usual = world.run_with(arguments, input.as_bytes()).exits(0);
        for streams in ALL {
            let (said, exit) = run(&world, arguments, input.as_bytes(), streams);
            let said = said.replace(world.home().to_str().unwrap(), "HOME");
            assert_eq!(exit, Some(0), "{arguments:?} {streams:?}: {said}");
            assert!(said == usual.stdout, "{arguments:?} {streams:?}: {said}");
        }
    }
}
