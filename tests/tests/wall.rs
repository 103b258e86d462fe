//! `serve` behind its wall, and on systems that lack a part of it. What a process can try there
//! is in `host/wall/tests/wall`; what it can read, in `sessions/`.

use keyhole_tests::{PATIENCE, World, lacking, skipped};
use keyhole_wall::WallStatus;
use rustix::io::Errno;
use serde_json::Value;
use std::{fs, path::Path, thread, time::Instant};

fn world() -> World {
    World::new()
        .file("notes/a.md", "first")
        .map("roots = ['~/notes']\n[keys]\nk-1 = '~/notes/a.md'\n")
}

/// The wall of this system, if it is whole.
pub(crate) fn whole() -> Option<WallStatus> {
    let here = WallStatus::here();
    if !here.is_whole() {
        skipped(here);
    }
    here.is_whole().then_some(here)
}

/// Whether it is.
pub(crate) fn stands() -> bool {
    whole().is_some()
}

/// How many filters of system calls a task has. A container may have given it some.
pub(crate) fn filters(task: impl AsRef<Path>) -> Option<u32> {
    let status = fs::read_to_string(task.as_ref().join("status")).unwrap();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("Seccomp_filters:"))?;
    count.trim().parse().ok()
}

#[test]
fn every_thread_is_behind_the_wall() {
    let Some(_) = whole() else { return };
    for arguments in [&[][..], &["--agent", "reader"], &["--require-ticket"]] {
        let mut client = world().plugin_data().arguments(arguments).client();
        // A call starts a second thread. Without a ticket, one of them is refused.
        let _ = client.load("k-1");
        let tasks = format!("/proc/{}/task", client.process_id());
        let tasks: Vec<_> = fs::read_dir(tasks).unwrap().collect();
        assert!(tasks.len() > 1);
        for task in tasks {
            let task = task.unwrap().path();
            assert!(filters(&task) > filters("/proc/thread-self"), "{task:?}");
            let status = fs::read_to_string(task.join("status")).unwrap();
            assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
        }
        client.end();
    }
}

/// A client writes to them when it likes.
#[test]
fn each_command_that_reads_files_waits_for_its_input_behind_the_wall() {
    let Some(_) = whole() else { return };
    for command in ["serve", "inject", "withhold"] {
        let world = World::new();
        let waiting = world.start([command]);
        let process = format!("/proc/{}", waiting.process_id());
        let began = Instant::now();
        while filters(&process) <= filters("/proc/thread-self") {
            assert!(began.elapsed() < PATIENCE, "{command}: no wall");
            thread::yield_now();
        }
    }
}

pub(crate) const NO_LANDLOCK: (i64, Errno) = (libc::SYS_landlock_create_ruleset, Errno::NOSYS);
pub(crate) const NO_FILTER: (i64, Errno) = (libc::SYS_seccomp, Errno::INVAL);

/// What keeps the kernel from confining a server to the roots of its map, and what it says.
#[test]
fn with_require_wall_a_server_starts_behind_the_whole_wall_or_not_at_all() {
    let Some(_) = whole() else { return };
    let required = || world().argument("--require-wall");
    required().load("k-1").is("first");
    let unsupported = (NO_LANDLOCK.0, Errno::OPNOTSUPP);
    for (lacks, says) in [
        (NO_LANDLOCK, "no Landlock"),
        (unsupported, "no Landlock"),
        (NO_FILTER, "no system-call filter"),
    ] {
        let said = lacking(&[lacks], || required().serve().does_not_start());
        assert!(said.contains(says), "{said}");
    }
    let no_roots = "[keys]\nk-1 = '~/notes/a.md'\n";
    for (world, says) in [
        (required().map(no_roots), "the map has no roots"),
        (required().map("keys = 1"), "map-invalid: "),
        (World::new().argument("--require-wall"), "map-missing: "),
    ] {
        let said = world.serve().does_not_start();
        let begins = "keyhole: cannot start: --require-wall";
        assert!(said.starts_with(begins), "{said}");
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("k-1") && !said.contains("notes"), "{said}");
        assert!(!said.contains("until then"), "{said}");
    }
}

/// What an agent reads by `keyhole inject` with these arguments, and what standard error says.
fn injected(arguments: &[&str], map: &str) -> (String, String) {
    let world = world().map(map);
    let input = r#"{"hook_event_name":"SubagentStart","agent_id":"a3f29c07b1d4e8560","agent_type":"reader"}"#;
    let ran = world.run_with([&["inject"], arguments].concat(), input.as_bytes());
    let ran = ran.exits(0);
    let text = ran.json()["hookSpecificOutput"]["additionalContext"].take();
    (text.as_str().unwrap().to_owned(), ran.stderr)
}

/// Without the option, it does as `serve` does.
#[test]
fn with_require_wall_inject_hands_over_its_file_behind_the_whole_wall_or_not_at_all() {
    let Some(_) = whole() else { return };
    let entry = "[keys]\nk-1 = { path = '~/notes/a.md', agents = ['reader'] }\n";
    let map = &format!("roots = ['~/notes']\n{entry}");
    let required = &["--require-wall"];
    assert_eq!(injected(required, map), ("first".into(), String::new()));
    for lacks in [NO_LANDLOCK, NO_FILTER] {
        let (read, said) = lacking(&[lacks], || injected(&[], map));
        assert_eq!(read, "first");
        assert!(said.starts_with("keyhole: the wall is not whole"), "{said}");
        let (read, said) = lacking(&[lacks], || injected(required, map));
        refuses_for_the_wall(&read);
        assert!(said.starts_with("keyhole: the wall is not whole"), "{said}");
    }
    assert_eq!(injected(&[], entry).0, "first");
    refuses_for_the_wall(&injected(required, entry).0);
}

#[track_caller]
fn refuses_for_the_wall(read: &str) {
    let begins = "keyhole: the document of this agent was not loaded. The hook has --require-wall";
    assert!(read.starts_with(begins), "{read}");
    assert!(!read.contains("first") && !read.contains("k-1"), "{read}");
}

#[test]
fn a_missing_part_is_said_once_and_check_says_which_parts_stand() {
    let Some(_) = whole() else { return };
    for lacks in [&[NO_LANDLOCK][..], &[NO_FILTER], &[NO_LANDLOCK, NO_FILTER]] {
        let (said, checked) = lacking(lacks, || {
            let world = world();
            let mut client = world.client();
            client.load("k-1").is("first");
            (client.ends_saying(), walls(&world))
        });
        let begins = "keyhole: the wall is not whole";
        assert!(said.starts_with(begins), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let has = |part| !lacks.contains(&part);
        let (landlock, filter) = (has(NO_LANDLOCK), has(NO_FILTER));
        assert_eq!(said.contains("no Landlock"), !landlock, "{said}");
        assert_eq!(said.contains("no system-call filter"), !filter, "{said}");
        assert_eq!(checked["landlock"].is_u64(), landlock, "{checked}");
        assert_eq!(checked["system_calls"], filter, "{checked}");
        assert_eq!(checked["roots"], landlock, "{checked}");
    }
    let said = walls(&world());
    assert!(said["landlock"].is_u64(), "{said}");
    let both = [&said["system_calls"], &said["roots"]];
    assert_eq!(both, [true; 2]);
    assert_eq!(walls(&world().map("[keys]\n"))["roots"], false);
}

fn walls(world: &World) -> Value {
    world.run(["check", "--json"]).json()["second_wall"].take()
}
