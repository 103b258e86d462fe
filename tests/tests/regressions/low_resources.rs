//! A server with almost no resources says so: at its start, or in an answer.

#[cfg(target_os = "linux")]
use keyhole_core::{Refusal, limits::Limits, sandbox::Sandbox};
use keyhole_tests::{MARKER, Session, World, skipped};
use rustix::process::geteuid;
use serde_json::json;

const KEY: &str = "k-hunter2-7f3a9c55aa01beef";

/// A server of any key.
fn world() -> World {
    let deep = "a/b/c/d/e/f/a.md";
    World::new()
        .file("a.md", "text")
        .file(deep, "text")
        .map(format!(
            "roots = ['~/']\n[keys]\n{KEY} = '~/a.md'\n[bindings.b]\npath = '~/{deep}'\n"
        ))
}

/// That one, and one that is bound to a file deep below the home.
fn worlds() -> [World; 2] {
    [world(), world().arguments(["--bind", "b"])]
}

#[derive(Debug, PartialEq)]
enum Outcome {
    DidNotStart,
    Refused,
    Served,
}

/// What became of a server and its one call, which says what is missing in each case.
fn outcome(mut session: Session, at: usize, place: &str) -> Outcome {
    session.begin();
    let arguments = match at {
        0 => json!({ "key": KEY }),
        _ => json!({}),
    };
    let call = json!({ "name": "load_context", "arguments": arguments });
    let id = session.ask("tools/call", call);
    let answer = loop {
        match session.receive_unless_ended() {
            Some(answer) if answer.message()["id"] != id => {}
            answer => break answer,
        }
    };
    session.hang_up();
    let ended = session.ended();
    let said = &ended.stderr;
    assert!(!said.contains(MARKER), "{place}: {said}");
    let Some(answer) = answer else {
        assert_eq!(ended.exit, Some(1), "{place}: {said}");
        let begins = said.starts_with("keyhole: cannot start: ");
        let is_right = begins && said.contains("raise the limit");
        assert!(is_right, "{place}: {said}");
        assert_eq!(said.lines().count(), 1, "{place}: {said}");
        return Outcome::DidNotStart;
    };
    assert_eq!(ended.exit, Some(0), "{place}: {said}");
    // A server looks at the map once at its start.
    let lacks = said.starts_with("keyhole: out-of-resources: ");
    assert!(said.is_empty() || lacks, "{place}: {said}");
    if answer.text() == Some("text") {
        return Outcome::Served;
    }
    answer.refused("out-of-resources");
    Outcome::Refused
}

#[test]
fn with_few_descriptors_a_server_ends_in_order_or_answers_what_is_missing() {
    for (at, mut world) in worlds().into_iter().enumerate() {
        let mut outcomes = Vec::new();
        for most in 6..=40 {
            world = world.after(&format!("ulimit -n {most}"));
            let place = format!("{most} descriptors");
            outcomes.push(outcome(world.serve(), at, &place));
        }
        for expected in [Outcome::DidNotStart, Outcome::Served] {
            assert!(outcomes.contains(&expected), "{at}: {outcomes:?}");
        }
    }
}

/// To read its access control list, the program opens a directory once more.
#[test]
fn a_directory_that_cannot_be_looked_into_for_want_of_a_descriptor_is_not_called_untrusted() {
    let mut world = world();
    world.mode(".config", 0o770);
    let mut client = world.client();
    let trusted = client.load(KEY).code().is_none();
    client.end();
    if !trusted {
        return skipped("this user's group is not his alone");
    }
    for most in 12..=32 {
        world = world.after(&format!("ulimit -n {most}"));
        outcome(world.serve(), 0, &format!("{most} descriptors"));
    }
}

/// The limit counts all threads of a user, and does not bind root. So the server runs
/// as a user who has few other threads: those of other tests.
#[test]
fn with_few_threads_a_server_ends_in_order_or_answers_what_is_missing() {
    if !geteuid().is_root() {
        return skipped("only root can be another user");
    }
    let mut world = world().run_by(54_330);
    let mut outcomes = Vec::new();
    // Shells do not agree on the option's name.
    let at_most = |most: u32| {
        format!("if (ulimit -u 100) 2>/dev/null; then ulimit -u {most}; else ulimit -p {most}; fi")
    };
    for most in [1, 2, 3, 4, 5, 6, 8, 10, 16, 100] {
        world = world.after(&at_most(most));
        let place = format!("{most} threads");
        outcomes.push(outcome(world.serve(), 0, &place));
    }
    for expected in [Outcome::DidNotStart, Outcome::Served] {
        assert!(outcomes.contains(&expected), "{outcomes:?}");
    }
    let words = "setup claude-code --bind a --file ~/a/b/c/d/e/f/a.md --dry-run";
    let world = world.after(&at_most(1));
    let ran = world.run(words.split(' ')).exits(1);
    assert!(ran.stderr.contains("threads"), "{ran:?}");
}

/// A program that gets no memory for one byte more ends, whatever it was about to answer.
#[test]
fn with_little_address_space_a_server_ends_in_order_or_answers_each_of_many_calls() {
    let mut outcomes = Vec::new();
    for mebibytes in [300, 400, 512, 640, 768, 1024, 2048] {
        let world = world().after(&format!("ulimit -v {}", mebibytes << 10));
        let place = format!("{mebibytes} MiB");
        outcomes.push(outcome(world.serve(), 0, &place));
        let mut session = world.serve();
        session.begin();
        let calls = 64;
        for _ in 0..calls {
            session.call(KEY);
        }
        // The handshake has one as well.
        let wanted = calls + 1;
        let mut answers = 0;
        while answers < wanted && session.receive_unless_ended().is_some() {
            answers += 1;
        }
        session.hang_up();
        let ended = session.ended();
        match outcomes.last() {
            Some(Outcome::DidNotStart) => assert_eq!(ended.exit, Some(1), "{place}"),
            _ => assert_eq!(
                (ended.exit, answers),
                (Some(0), wanted),
                "{place}: {ended:?}"
            ),
        }
    }
    for expected in [Outcome::DidNotStart, Outcome::Served] {
        assert!(outcomes.contains(&expected), "{outcomes:?}");
    }
}

/// The engine's errors are texts, and this is the end of the one by which a lack is known.
#[cfg(target_os = "linux")]
#[test]
fn an_engine_that_gets_no_memory_says_so_by_the_systems_number() {
    let sandbox = || Sandbox::embedded(Limits::default()).err();
    let error = keyhole_tests::without_large_memory(sandbox).unwrap();
    assert_eq!(error.code(), Refusal::OutOfResources, "{error}");
    assert!(error.to_string().ends_with("(os error 12)"), "{error}");
}

/// A new thread for calls needs a stack for its signals. wasmtime panics without one.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_gets_no_stack_for_its_signals_is_no_fault_of_ours() {
    let lacks = [(libc::SYS_sigaltstack, rustix::io::Errno::NOMEM)];
    let mut client = keyhole_tests::lacking(&lacks, || world().client());
    for _ in 0..2 {
        client.load(KEY).refused("out-of-resources");
    }
    let _ = client.ends_saying();
}

/// Each of these limits is named.
#[cfg(target_os = "linux")]
#[test]
fn without_the_memory_that_the_engine_needs_each_command_names_the_limit() {
    let no_execution = "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])";
    let python = [
        "/usr/bin/env",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "python3",
        "-c",
        no_execution,
    ];
    let limited = [
        (world().after("ulimit -v 262144"), "-v to 512 MiB"),
        (world().through(python), "MemoryDenyWriteExecute"),
    ];
    for (world, limit) in limited {
        for command in ["serve", "check"] {
            let ran = world.run([command]);
            if ran.exit == Some(0) && limit.starts_with("Memory") {
                return skipped("this kernel lets memory become executable");
            }
            let _ = ran.exits(1).only_complains(limit);
        }
        let input = br#"{"hook_event_name":"SubagentStart","agent_id":"a3f29c07b1d4e8560","agent_type":"a"}"#;
        let ran = world.run_with(["inject"], input).exits(0);
        assert!(ran.stdout.contains("out-of-resources: "), "{ran:?}");
        let named = limit.split(' ').next().unwrap();
        assert!(ran.stdout.contains(named), "{ran:?}");
    }
    // The largest map and the largest file have room, or nothing starts.
    for limit in ["ulimit -d 4000", "ulimit -s 240"] {
        let named = limit.split(' ').nth(1).unwrap();
        let start = |command: &str| world().after(limit).run([command]);
        for command in ["agents", "contract", "check", "serve"] {
            let _ = start(command).exits(1).only_complains(named);
        }
        // It denies its call.
        let _ = start("guard").exits(2).only_complains(named);
    }
    for command in ["check", "serve", "agents"] {
        let ran = world().after("ulimit -d 300000").run([command]).exits(1);
        let _ = ran.only_complains("-d and -v to 512 MiB");
    }
    // So has the comparison of a report with the largest file.
    let all = format!("[keys.{KEY}]\npath = '~/a.md'\nmax_bytes = 8388608\nagents = ['a']\n");
    let large = World::new().file("a.md", "a b ".repeat(2 << 20));
    let large = large
        .map(all + "withhold = true\n")
        .after("ulimit -d 700000");
    assert!(large.run(["check"]).stdout.contains("out-of-resources"));
    let ran = large.run_with(["withhold"], br#"{"agent":"a","report":"x"}"#);
    assert_eq!(ran.exits(0).json()["report"], serde_json::Value::Null);
}
