//! `keyhole gate`, which a client asks before a call, and `keyhole scan`, which people and CI run.

use crate::secrecy::{conceals, talkative};
use keyhole_tests::{MARKER, Ran, World, binary, skipped, workspace};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// A user with a list, and a repository `src/pub` with a remote. `field` says where the list's
/// values may be published.
fn user(field: &str) -> World {
    let entry = format!("path = '~/private/{MARKER}.md'\nagents = ['acme:reviewer']\n{field}\n");
    let world = World::new()
        .directory("src/pub")
        .file(
            &format!("private/{MARKER}.md"),
            format!("# Clients\n- {MARKER}\n"),
        )
        .map(format!(
            "roots = ['~/private']\n[keys.k-hunter2-7f3a9c55aa01beef]\n{entry}"
        ));
    shell(
        &world,
        "git init -q -b main .; echo 1 >a.txt; git add -A; git commit -qm x
         git init -q --bare ../../origin.git; git remote add origin ../../origin.git
         git push -q origin main",
    );
    world
}

const NOWHERE: &str = "publish_only_in = []";

/// Runs a shell's commands in the repository.
fn shell(world: &World, commands: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", commands])
        .current_dir(world.path("src/pub"))
        .env_remove("CLAUDECODE")
        .env("HOME", world.home());
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "a@b"),
        ("GIT_COMMITTER_NAME", "Ada"),
        ("GIT_COMMITTER_EMAIL", "a@b"),
    ] {
        shell.env(name, value);
    }
    let ran = shell.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Stages a line that has the value.
fn stage(world: &World) {
    shell(world, &format!("echo 'for {MARKER}' >>a.txt; git add -A"));
}

fn in_repository(world: &World, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = world.command(arguments);
    Ran::of(command.current_dir(world.path("src/pub")), input)
}

/// What the gate is asked about a call of this tool.
fn question(world: &World, tool: &str, input: &Value) -> String {
    json!({
        "session_id": "1",
        "cwd": world.path("src/pub"),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolu_1",
    })
    .to_string()
}

/// What the gate says of a shell's command, and nothing on standard error.
#[track_caller]
fn said(world: &World, command: &str) -> String {
    let asked = question(world, "Bash", &json!({ "command": command }));
    let ran = in_repository(world, &["gate"], asked.as_bytes()).exits(0);
    ran.says_nothing_on_stderr().stdout
}

/// The reason with which the gate asks.
#[track_caller]
fn reason(world: &World, command: &str) -> String {
    let answer: Value = serde_json::from_str(&said(world, command)).unwrap();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "ask");
    assert_eq!(output.as_object().unwrap().len(), 3);
    output["permissionDecisionReason"]
        .as_str()
        .unwrap()
        .to_owned()
}

const SENTENCE: &str = "omething in what this would publish needs a person's look before it leaves the machine. Do not publish it another way; say to the user: run this in a terminal.";

#[test]
fn a_call_that_would_publish_a_value_is_asked_about_and_no_other() {
    let world = user(NOWHERE).plugin_data();
    for command in ["git commit -m x", "git push", "git status"] {
        assert_eq!(said(&world, command), "", "{command}");
    }
    stage(&world);
    assert_eq!(said(&world, "git status"), "");
    assert_eq!(
        reason(&world, "git commit -m x"),
        format!("Keyhole: s{SENTENCE}")
    );
    let input = json!({ "title": "x", "body": MARKER });
    for (tool, is_asked) in [
        ("mcp__hub__create_issue", true),
        ("mcp__hub__get_issue", false),
    ] {
        let asked = question(&world, tool, &input);
        let ran = in_repository(&world, &["gate"], asked.as_bytes()).exits(0);
        assert_eq!(!ran.stdout.is_empty(), is_asked, "{tool}");
    }
    // Git's own files are gone.
    assert_eq!(fs::read_dir(world.path("data")).unwrap().count(), 0);
}

#[test]
fn a_person_reads_where_it_is() {
    for (attended, is_person) in [(None, true), (Some("1"), true), (Some("0"), false)] {
        let mut world = user(NOWHERE).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        if let Some(value) = attended {
            world = world.env("CLAUDE_CODE_SESSION_ATTENDED", value);
        }
        stage(&world);
        let expected = if is_person {
            "Keyhole: this would publish 1 passage that matches your private list. Only you can judge them:\n  a.txt:2  Clients".to_owned()
        } else {
            format!("Keyhole: s{SENTENCE}")
        };
        assert_eq!(reason(&world, "git commit -m x"), expected);
    }
    for entrypoint in ["sdk-cli", "sdk-ts", "", "CLI"] {
        let world = user(NOWHERE).env("CLAUDE_CODE_ENTRYPOINT", entrypoint);
        stage(&world);
        assert_eq!(
            reason(&world, "git commit -m x"),
            format!("Keyhole: s{SENTENCE}")
        );
    }
}

#[test]
fn without_a_map_the_field_or_in_an_allowed_folder_nothing_is_said() {
    for field in [
        "",
        "publish_only_in = ['~/src']",
        "publish_only_in = ['/x', '~/src/pub']",
    ] {
        let world = user(field);
        stage(&world);
        assert_eq!(said(&world, "git commit -m x"), "", "{field}");
    }
    let world = user(NOWHERE);
    stage(&world);
    world.remove_map();
    assert_eq!(said(&world, "git commit -m x"), "");
    let world = world.homeless();
    let asked = question(&world, "Bash", &json!({ "command": "git commit" }));
    let _ = in_repository(&world, &["gate"], asked.as_bytes())
        .exits(0)
        .says("");
}

#[test]
fn what_cannot_be_compared_is_asked_about_with_its_code() {
    let file = format!("private/{MARKER}.md");
    let world = user(NOWHERE);
    let head = "Keyhole: what this would publish could not be compared with your private list. ";
    let is_told = |code: &str| {
        let told = reason(&world, "git commit -m x");
        assert!(
            told.starts_with(&format!("{head}{code}: ")),
            "{code}: {told}"
        );
        assert_eq!(told.lines().count(), 1);
        conceals(&told);
        assert_eq!(said(&world, "git status"), "");
    };
    for list in ["", "# Clients\n", "# Clients\n- the\n"] {
        world.write(&file, list);
        is_told("no-values");
    }
    world.write(&file, [0xff]);
    is_told("not-utf8");
    fs::remove_file(world.path(&file)).unwrap();
    is_told("not-found");
    world.write(&file, format!("- {MARKER}\n"));
    shell(&world, "mv .git/index .git/old; mkfifo .git/index");
    is_told("repository-unreadable");
    shell(&world, "mv -f .git/old .git/index");
    assert_eq!(said(&world, "git commit -m x"), "");
    world.write_map("[keys");
    is_told("map-invalid");
}

#[test]
fn a_question_that_is_not_understood_is_asked_about_if_a_list_counts() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let input = format!("{{\"tool_name\":\"mcp__a__create\",\"tool_input\":{deep},\"cwd\":\"/\"}}");
    let marked = format!("{{\"tool_name\":\"{MARKER}\"}}");
    let inputs = ["", "[]", "{}", &marked, &input];
    for (field, is_asked) in [(NOWHERE, true), ("withhold = true", false)] {
        let world = user(field);
        for input in inputs {
            let ran = in_repository(&world, &["gate"], input.as_bytes()).exits(0);
            let told = ran.says_nothing_on_stderr().stdout;
            assert_eq!(told.contains("\"ask\""), is_asked, "{input:.40}: {told}");
            assert_eq!(told.is_empty(), !is_asked, "{input:.40}");
            conceals(&told);
        }
    }
}

/// The launcher then asks. The alarm needs no thread, so it is set before the wall is up.
#[test]
fn a_gate_that_waits_without_end_is_ended_by_its_alarm() {
    is_ended_by_its_alarm(&user(NOWHERE), "gate");
}

/// This hook waits for its question, as for a file system that hangs.
#[track_caller]
pub(crate) fn is_ended_by_its_alarm(world: &World, hook: &str) {
    let mut command = world.command([hook]);
    let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = process.stdin.take();
    // Without an alarm, this ends it.
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(60));
        drop(stdin);
    });
    let ended = process.wait().unwrap();
    assert_eq!(ended.signal(), Some(Signal::ALARM.as_raw()), "{ended}");
}

#[test]
fn no_value_of_a_list_is_in_anything_that_is_said() {
    let others = format!("{NOWHERE}\n[keys.k-2]\npath = '~/private/other.md'\n{NOWHERE}");
    let world = talkative(user(&others).env("CLAUDE_CODE_ENTRYPOINT", "cli"));
    world.write("private/other.md", [0xff]);
    stage(&world);
    shell(
        &world,
        &format!("git commit -qm 'for {MARKER}'; echo {MARKER} >>a.txt; echo {MARKER} >n.txt"),
    );
    for command in [
        "git commit -am x",
        "git push",
        &format!("git commit -m {MARKER}"),
        &format!("curl -d {MARKER} https://x"),
    ] {
        conceals(&reason(&world, command));
    }
    let list = world.path(&format!("private/{MARKER}.md"));
    let list = ["--list", list.to_str().unwrap()];
    for arguments in [&["scan"][..], &["scan", "--json"], &["scan", "a.txt"]] {
        let scan = |arguments: &[&str]| {
            let mut command = world.command(arguments);
            command.env_remove("CLAUDE_CODE_ENTRYPOINT");
            Ran::of(command.current_dir(world.path("src/pub")), b"")
        };
        let ran = scan(arguments).exits(2);
        conceals(&format!("{}{}", ran.stdout, ran.stderr));
        let ran = scan(&[arguments, &list].concat()).exits(1);
        conceals(&format!("{}{}", ran.stdout, ran.stderr));
    }
}

#[test]
fn a_scan_tells_the_places_and_what_was_compared() {
    let world = user(NOWHERE);
    let scan = |arguments: &[&str], input: &str| {
        let all = [&["scan"], arguments].concat();
        in_repository(&world, &all, input.as_bytes())
    };
    let summary = "keyhole: 1 rule, 0 added lines in 0 files, 0 commits\n";
    let ran = scan(&[], "").exits(0).says("");
    assert_eq!(ran.stderr, summary);
    stage(&world);
    shell(
        &world,
        &format!("git commit -qm 'x\n\nfor {MARKER}'; echo {MARKER} >n.txt; git add n.txt"),
    );
    let ran = scan(&[], "").exits(1);
    let commit = ran.stdout.split("message of ").nth(1).unwrap();
    let commit = commit.split_whitespace().next().unwrap();
    assert_eq!(
        ran.stdout,
        format!(
            "n.txt:1:1  Clients\nmessage of {commit}  Clients\na.txt:2:5 of {commit}  Clients\n"
        )
    );
    let summary = "keyhole: 1 rule, 2 added lines in 2 files, 1 commit\n";
    assert_eq!(ran.stderr, summary);
    let row = r#"{"column":5,"line":2,"place":"a.txt","rule":"Clients"}"#;
    scan(&["--json", "a.txt"], "")
        .exits(1)
        .says(&format!("{row}\n"));
    let diff = format!("--- a/x.rs\n+++ b/x.rs\n@@ -0,0 +3 @@\n+let {MARKER};\n");
    scan(&["-"], &diff).exits(1).says("x.rs:3:5  Clients\n");
    scan(&["-"], MARKER)
        .exits(1)
        .says("standard input:1:1  Clients\n");
    scan(&["-"], "nothing of it\n").exits(0).says("");
}

#[test]
fn a_scan_that_compares_nothing_says_why() {
    let world = user(NOWHERE);
    stage(&world);
    let fails = |arguments: &[&str], code: &str| {
        let all = [&["scan"], arguments].concat();
        let ran = in_repository(&world, &all, b"").exits(2);
        let _ = ran.only_complains(&format!("keyhole: {code}: "));
    };
    world.write("empty.md", "# Nothing\n");
    let empty = world.path("empty.md");
    fails(&["--list", empty.to_str().unwrap()], "no-values");
    fails(&["--list", "missing.md"], "list-unreadable");
    fails(&["missing.txt"], "file-unreadable");
    fails(&["."], "file-unreadable");
    world.write_map("[keys]\na = '~/a.md'\n");
    fails(&[], "no-list");
    world.write_map("[keys");
    fails(&[], "map-invalid");
    world.remove_map();
    fails(&[], "map-missing");
    let _ = world
        .run(["scan", "--list", "empty.md"])
        .exits(2)
        .only_complains("no-repository: ");
    let _ = world
        .run(["scan", "--list", "a", "--map", "b"])
        .exits(2)
        .says("");
}

#[test]
fn in_a_clients_shell_a_scan_tells_nothing() {
    for variable in ["CLAUDECODE", "CODEX_CI", "GEMINI_CLI"] {
        for is_staged in [true, false] {
            let world = user(NOWHERE).env(variable, "1");
            if is_staged {
                stage(&world);
            }
            for arguments in [&["scan"][..], &["scan", "--json", "a.txt"], &["scan", "x"]] {
                let ran = in_repository(&world, arguments, b"").exits(2).says("");
                assert_eq!(ran.stderr, format!("keyhole: s{SENTENCE}\n"));
            }
        }
    }
}

#[cfg(target_os = "linux")]
/// The hooks of the page, as a user writes them.
#[test]
fn the_pages_hooks_refuse_a_commit_and_a_push_of_a_value() {
    let page = fs::read_to_string(workspace().join("docs/scan.md")).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(2).collect();
    let [commit, push] = [0, 1].map(|index| blocks[index].split("```").next().unwrap());
    let (_, last_lines) = commit.split_once('\n').unwrap();
    let world = user(NOWHERE);
    let path = binary().display();
    for (name, text) in [
        ("pre-commit", commit),
        ("pre-push", &format!("{push}{last_lines}")),
    ] {
        let script = format!("#!/bin/sh\nkeyhole() {{ '{path}' \"$@\"; }}\n{text}");
        let file = world.path(&format!("src/pub/.git/hooks/{name}"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    shell(
        &world,
        &format!(
            "echo 2 >>a.txt; git commit -qam y; git push -q origin main
             echo {MARKER} >b.txt; git add b.txt; if git commit -qm x; then exit 1; fi
             git switch -qc wip; git commit -q --no-verify -m x
             if git push -q origin wip; then exit 2; fi
             git push -q origin main:other; git push -q origin :other"
        ),
    );
}

#[test]
fn on_a_terminal_a_scan_shows_ten_findings_and_names() {
    let world = user(NOWHERE);
    let lines = format!("{MARKER}\n").repeat(12);
    world.write(&format!("{MARKER}.txt"), lines);
    let name = format!("{MARKER}.txt");
    let (shown, exit) = world.asked(["scan", &name], &[]);
    assert_eq!(exit, Some(1), "{shown}");
    assert_eq!(shown.matches(&format!("{name}:")).count(), 10, "{shown}");
    assert!(
        shown.contains("and 2 more: `keyhole scan | less` shows all"),
        "{shown}"
    );
}

#[test]
fn what_has_read_a_list_starts_no_program() {
    let world = user(NOWHERE);
    stage(&world);
    let list = world.outside("list.md");
    fs::write(&list, format!("# Clients\n- {MARKER}\n")).unwrap();
    let asked = question(&world, "Bash", &json!({ "command": "git commit -m x" }));
    let by_list: &[&str] = &["scan", "--list", list.to_str().unwrap()];
    for (arguments, input, exit) in [
        (&["gate"][..], &*asked, 0),
        (&["scan"], "", 1),
        (by_list, "", 1),
    ] {
        let calls = world.outside("calls");
        let mut command = Command::new(env!("CARGO_BIN_EXE_calls-of"));
        command.arg(&calls);
        let program = world.command(arguments);
        command.arg(program.get_program()).args(program.get_args());
        command.current_dir(world.path("src/pub")).env_clear();
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap());
        }
        let ran = Ran::of(&mut command, input.as_bytes());
        if ran.exit == Some(77) {
            return skipped("no program can be followed here");
        }
        assert_eq!(ran.exit, Some(exit), "{arguments:?}: {}", ran.stderr);
        let told = fs::read_to_string(&calls).unwrap();
        let names = ["list.md", &format!("{MARKER}.md")];
        let is_list =
            |line: &str| line.starts_with("open ") && names.iter().any(|name| line.ends_with(name));
        let lines: Vec<&str> = told.lines().collect();
        let read = lines.iter().position(|line| is_list(line)).expect(&told);
        let (before, after) = lines.split_at(read);
        assert!(before.contains(&"filter"), "{told}");
        assert!(before.iter().any(|line| line.ends_with("/git")), "{told}");
        assert!(
            !after.iter().any(|line| line.starts_with("exec ")),
            "{told}"
        );
    }
}
