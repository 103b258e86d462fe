//! `start.sh`, whatever happens to an installation.
//!
//! The servers here are small scripts that print their name, so that the test sees
//! what runs; all the rest is the plugin's own.

pub(crate) mod machine;

use super::mode;
use crate::sessions::{each_file, has};
use keyhole_tests::{NOBODY, Ran, skipped};
use machine::{Machine, own, real, servers};
use rustix::process::geteuid;
use std::{collections::BTreeSet, env, fs, path::Path, process::Command, thread};

/// Every command that the launcher runs in an installation.
const COMMANDS: [&str; 6] = ["cmp", "sha256sum", "mkdir", "cp", "mv", "rm"];

each_file! {
    "plugin/launcher", play;
    fn a_damaged_program_is_found_before_a_version_counts_as_installed();
    fn a_data_folder_that_is_not_named_not_made_or_read_only_is_one_clear_line();
    fn a_full_disk_is_one_clear_line_and_leaves_nothing();
    fn a_guard_that_cannot_be_run_denies();
    fn a_program_that_is_not_there_or_may_not_be_run_is_one_clear_line();
    fn a_program_that_the_system_kills_or_cannot_load_is_one_clear_line();
    fn an_install_removes_only_its_own_files();
    fn each_version_runs_its_own_program_in_its_own_folder_whatever_is_installed();
    fn nothing_in_the_data_folder_is_run_whoever_put_it_there();
    fn on_android_it_says_that_this_is_not_supported();
    fn on_windows_it_says_where_to_run_the_client();
}

/// A file has, line by line, a method of [`Machine`] with what it gets, or
///
/// ```text
/// # TEXT                          why
/// $ COMMAND                       what a shell does in the folder of the machine
/// start VERSION ARGUMENTS ⇒ STATUS TEXT
///                                 what it says, or if there is no TEXT, nothing on standard output
/// data FOLDER                     where the data folder is from here on; or `nobody` starts all
/// ====                            another machine
/// ```
fn play(text: &str) {
    text.split("\n====\n").for_each(play_on_one);
}

fn play_on_one(text: &str) {
    let mut machine = Machine::new();
    let system = Ran::of(Command::new("uname").arg("-sm"), b"").stdout;
    let text = text.replace("OWN", own()).replace("SYSTEM", system.trim());
    for line in text.replace("NOBODY", &NOBODY.to_string()).lines() {
        // Seen if the test fails.
        println!("{line}");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            "needs" if has(rest) => {}
            "needs" => return,
            "release" => machine.release(rest),
            "sum" => machine.sum(rest),
            "real" => machine.make_real("v1"),
            "runs" => machine.runs(rest),
            "installs" => machine.installs(rest),
            "refuses" => machine.refuses(rest),
            "fails" => machine.fails(rest),
            "data" => machine = machine.with_data(rest.into()),
            "nobody" => machine.nobody = geteuid().is_root(),
            "shim" => {
                let (command, script) = rest.split_once(' ').unwrap();
                machine.shim(command, script);
            }
            "$" => {
                let mut shell = Command::new("sh");
                let done = shell
                    .args(["-ec", rest])
                    .current_dir(machine.temp.path())
                    .status();
                assert!(done.unwrap().success());
            }
            _ => {
                let (arguments, expected) = rest.split_once(" ⇒ ").unwrap();
                let arguments: Vec<_> = arguments.split(' ').collect();
                let (status, says) = expected.split_once(' ').unwrap_or((expected, ""));
                let ran = machine.start(arguments[0], &arguments[1..]);
                let ran = ran.exits(status.parse().unwrap());
                let is_said = if says.is_empty() {
                    ran.stdout.is_empty()
                } else {
                    (ran.stdout.clone() + &ran.stderr).contains(says)
                };
                assert!(is_said, "{ran:?}");
            }
        }
    }
}

/// Each program that the script runs takes as long as all the rest of it. Times would
/// vary; the number of programs does not.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "elsewhere, it asks uname")]
fn a_start_runs_no_other_program() {
    if !Path::new("/proc/sys/kernel/arch").exists() {
        return skipped("Linux before 6.1 does not say which machine it is");
    }
    let mut machine = Machine::new();
    machine.shell = vec!["/bin/sh"];
    for command in COMMANDS
        .iter()
        .chain(&["uname", "ls", "id", "cat", "chmod"])
    {
        machine.shim(command, "echo \"$0\" >>\"${0%/*}/../ran\"; exit 1");
    }
    for arguments in [&["serve"][..], &["guard", "--after"], &["agents"]] {
        let mut command = machine.command("v1", arguments);
        // The shell says so if it finds no program of a name.
        let command = command.env("PATH", machine.temp.path().join("shims"));
        Ran::of(command, b"input\n")
            .says_nothing_on_stderr()
            .exits(0);
        assert!(!machine.temp.path().join("ran").exists());
    }
}

/// The gate is asked before each call of a shell.
#[test]
fn the_gate_starts_the_program_only_for_a_question_with_a_word_that_publishes() {
    let machine = Machine::new();
    machine.replace_server("v1", own(), "#!/bin/sh\nprintf '%s,' \"$@\"; cat; exit 7\n");
    let ask = |question: &str| {
        let mut command = machine.command("v1", &["gate"]);
        Ran::of(&mut command, question.as_bytes()).says_nothing_on_stderr()
    };
    for question in [
        r#"{"tool_name":"Bash","tool_input":{"command":"git status"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"cargo test"}}"#,
        "",
    ] {
        let _ = ask(question).exits(0).says("");
    }
    for words in [
        "git commit -m '%s \\\\n'",
        "git push",
        "jj git submit",
        "git send-email",
        "npm publish",
        "twine upload",
        "gh api x",
        "glab mr create",
        "curl -d x",
        "scp a h:",
        "rsync a h:",
        "docker push",
        "mvn deploy",
    ] {
        let question = format!(r#"{{"tool_name":"Bash","tool_input":{{"command":"{words}"}}}}"#);
        let _ = ask(&question).exits(7).says(&format!("gate,{question}"));
    }
    for tool in [
        "create_issue",
        "issueUpdate",
        "sendMail",
        "GITHUB_CREATE_AN_ISSUE",
        "issue_write",
        "mergePull",
        "addComment",
        "Post",
    ] {
        let question = format!(r#"{{"tool_name":"mcp__hub__{tool}"}}"#);
        let _ = ask(&question).exits(7).says(&format!("gate,{question}"));
    }
}

/// Without an answer, the client lets the call pass.
#[test]
fn for_a_gate_that_a_signal_has_ended_the_launcher_asks() {
    for end in ["kill -s ALRM $$", "kill -s ABRT $$", "kill -s KILL $$"] {
        asks_for_a_gate_that_ends_so(end);
    }
}

fn asks_for_a_gate_that_ends_so(end: &str) {
    let machine = Machine::new();
    machine.replace_server("v1", own(), &format!("#!/bin/sh\nprintf '{{'\n{end}\n"));
    let mut command = machine.command("v1", &["gate"]);
    let answer = Ran::of(&mut command, b"git push").exits(0).json();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "ask");
    let reason = output["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains(" too-slow: "), "{reason}");
    assert_eq!(output.as_object().unwrap().len(), 3);
}

#[test]
fn arguments_streams_and_exit_code_are_the_programs_own() {
    let machine = Machine::new();
    machine.replace_server(
        "v1",
        own(),
        "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done; cat; echo no >&2\n\
         echo \"$CLAUDE_PLUGIN_DATA\"; exit 7\n",
    );
    let data = machine.data().display().to_string();
    let ran = machine
        .start("v1", &["serve", "", "a b", "*", "$x", "'\"\\"])
        .says(&format!("<serve><><a b><*><$x><'\"\\>input\n{data}\n"))
        .exits(7);
    assert_eq!(ran.stderr, "no\n");
}

/// Each command of the launcher is a point at which it may be killed, before or
/// after the command has done its work.
#[test]
fn an_installation_that_was_killed_at_any_point_is_made_again() {
    let mut killed = BTreeSet::new();
    for when in ["before", "after"] {
        for command in COMMANDS {
            let machine = Machine::new();
            machine.release("v2");
            if command != "mkdir" {
                machine.installs("v1");
            }
            let work = match when {
                "after" => format!("'{}' \"$@\"", real(command).display()),
                _ => ":".to_owned(),
            };
            machine.shim(command, &format!("{work}\nkill -9 $PPID"));
            if machine.start("v2", &["install"]).exit != Some(0) {
                killed.insert((when, command));
                let done = machine.manifest() == machine.own_manifest("v2");
                assert_eq!(done, (when, command) == ("after", "mv"), "{when} {command}");
            }
            machine.remove_shims();
            machine.runs("v2");
            machine.installs("v2");
        }
    }
    for command in ["mkdir", "cp", "mv"] {
        assert!(killed.contains(&("before", command)), "{killed:?}");
    }
}

#[test]
fn ten_sessions_of_two_versions_that_start_at_once_are_all_installed() {
    let machine = Machine::new();
    machine.release("v2");
    let versions = ["v1", "v2"];
    let manifests = versions.map(|version| {
        machine.make_real(version);
        machine.own_manifest(version)
    });
    for _ in 0..4 {
        let _ = fs::remove_dir_all(machine.data());
        thread::scope(|scope| {
            for version in versions.repeat(5) {
                let install = || machine.start(version, &["install"]);
                scope.spawn(move || install().says_nothing_on_stderr().exits(0));
            }
        });
        assert_eq!(machine.installed(), ["manifest.sha256", "tickets"]);
        assert!(manifests.contains(&machine.manifest()));
    }
}

#[test]
fn each_system_gets_its_own_program() {
    for (name, systems) in servers() {
        for system in systems {
            let machine = Machine::new();
            // Otherwise the kernel's word counts, if there is a program for it.
            if name != own() {
                fs::remove_file(machine.server("v1")).unwrap();
            }
            machine.shim("uname", &format!("[ \"$*\" = -sm ] && echo '{system}'"));
            machine
                .start("v1", &["serve"])
                .says(&format!("v1 {name} input serve\n"))
                .exits(0);
        }
    }
}

/// Small systems lack `cmp`. Without a program for sums, nothing is damaged.
#[test]
fn without_a_program_that_it_needs_it_works_or_names_that() {
    let needs: Vec<_> = COMMANDS.into_iter().chain(["uname", "sh", "cat"]).collect();
    for (absent, says) in [
        ("cmp", ""),
        (
            "sha256sum",
            "keyhole: the program cannot be verified: install sha256sum or shasum, and start a new session\n",
        ),
    ] {
        let machine = Machine::new();
        for command in needs.iter().filter(|command| **command != absent) {
            machine.shim(command, &format!("exec {} \"$@\"", real(command).display()));
        }
        for _ in 0..2 {
            let mut command = machine.command("v1", &["install"]);
            let command = command.env("PATH", machine.temp.path().join("shims"));
            let ran = Ran::of(command, b"").says("");
            assert_eq!(
                (&*ran.stderr, ran.exit),
                (says, Some(i32::from(!says.is_empty())))
            );
        }
    }
}

/// `sh` is bash on macOS, dash on Debian, busybox on Alpine.
#[test]
fn it_works_in_every_shell_that_is_here() {
    for shell in [
        &["dash"][..],
        &["bash", "--posix"],
        &["bash"],
        &["busybox", "sh"],
        &["ksh"],
        &["zsh", "--emulate", "sh"],
    ] {
        let mut paths = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        paths.retain(|directory| directory.join(shell[0]).exists());
        if paths.is_empty() {
            skipped(format!("{} is not on this machine", shell[0]));
            continue;
        }
        let mut machine = Machine::new();
        machine.shell = shell.to_vec();
        machine.installs("v1");
        machine.installs("v1");
        machine.runs("v1");
        mode(&machine.server("v1"), 0o644);
        machine.start("v1", &["guard"]).says("").exits(2);
        fs::remove_file(machine.server("v1")).unwrap();
        machine.shim("uname", "echo Plan9 mips");
        machine.fails("there is no program for this system (Plan9 mips)");
    }
}
