//! `start.sh`, whatever happens to an installation.
//!
//! The servers here are small scripts that print their name, so that the test sees
//! what runs; all the rest is the plugin's own.

/// What cannot be installed.
mod amiss;
pub(crate) mod machine;

use super::mode;
use keyhole_tests::{Ran, skipped};
use machine::{Machine, identity, own, real, servers};
use std::{collections::BTreeSet, env, fs, path::Path, thread};

/// Every command that the launcher runs in an installation.
const COMMANDS: [&str; 7] = ["cmp", "grep", "sha256sum", "mkdir", "cp", "mv", "rm"];

#[test]
fn the_program_runs_from_the_plugins_own_folder_before_anything_is_installed() {
    let machine = Machine::new();
    machine.runs("v1");
    assert_eq!(machine.installed(), [] as [&str; 0]);
}

#[test]
fn an_installation_makes_the_folder_for_tickets_and_copies_the_manifest() {
    let machine = Machine::new();
    machine.installs("v1");
    assert_eq!(machine.installed(), ["manifest.sha256", "tickets"]);
    // The next session finds all as it should be.
    let before = identity(&machine.data().join("manifest.sha256"));
    machine.installs("v1");
    assert_eq!(identity(&machine.data().join("manifest.sha256")), before);
}

/// Each program that the script runs takes as long as all the rest of it. Times would
/// vary; the number of programs does not.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "elsewhere, it asks uname")]
fn a_start_runs_no_other_program() {
    let machine = Machine::new();
    let ran = machine.temp.path().join("ran");
    for command in COMMANDS
        .into_iter()
        .chain(["uname", "ls", "id", "cat", "chmod"])
    {
        machine.shim(command, "echo \"$0\" >>\"${0%/*}/../ran\"; exit 1");
    }
    for arguments in [
        &["serve"][..],
        &["guard"],
        &["guard", "--after"],
        &["agents"],
    ] {
        // Linux before 6.1 does not say which machine it is.
        if Path::new("/proc/sys/kernel/arch").exists() {
            machine.start("v1", arguments).exits(0);
            assert!(!ran.exists());
        }
    }
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
    let data = machine.data();
    let ran = machine
        .start("v1", &["serve", "", "a b", "*", "$x", "'\"\\"])
        .says(&format!(
            "<serve><><a b><*><$x><'\"\\>input\n{}\n",
            data.display()
        ))
        .exits(7);
    assert_eq!(ran.stderr, "no\n");
}

#[test]
fn a_session_from_before_an_upgrade_goes_on_with_its_own_program() {
    let machine = Machine::new();
    machine.release("v2");
    machine.installs("v1");
    machine.installs("v2");
    for version in ["v1", "v2"] {
        machine.runs(version);
    }
    machine.installs("v1");
    machine.runs("v2");
}

/// Each command of the launcher is a point at which it may be killed, before or
/// after the command has done its work.
#[test]
fn an_installation_that_was_killed_at_any_point_is_made_again() {
    let mut killed = BTreeSet::new();
    for (when, after) in [("before", false), ("after", true)] {
        for command in COMMANDS {
            let machine = Machine::new();
            machine.release("v2");
            if command != "mkdir" {
                machine.installs("v1");
            }
            let work = format!("'{}' \"$@\"", real(command).display());
            let work_first = if after { &work } else { ":" };
            machine.shim(command, &format!("{work_first}\nkill -9 $PPID"));
            let ran = machine.start("v2", &["install"]);
            if ran.exit != Some(0) {
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
fn ten_sessions_of_two_versions_that_start_at_once_each_install_and_run_their_own() {
    let machine = Machine::new();
    machine.release("v2");
    let both = ["v1", "v2"].map(|version| machine.own_manifest(version));
    for _ in 0..4 {
        let _ = fs::remove_dir_all(machine.data());
        thread::scope(|scope| {
            for version in ["v1", "v2"].repeat(5) {
                let machine = &machine;
                scope.spawn(move || {
                    machine
                        .start(version, &["install"])
                        .says_nothing_on_stderr()
                        .exits(0);
                    machine.runs(version);
                });
            }
        });
        assert_eq!(machine.installed(), ["manifest.sha256", "tickets"]);
        assert!(both.contains(&machine.manifest()));
    }
}

#[test]
fn ten_sessions_that_start_the_real_program_at_once_are_all_installed() {
    let machine = Machine::new().real();
    for _ in 0..4 {
        let _ = fs::remove_dir_all(machine.data());
        thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| machine.installs("v1"));
            }
        });
        assert_eq!(machine.installed(), ["manifest.sha256", "tickets"]);
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

#[test]
fn a_damaged_program_is_found_before_a_version_counts_as_installed() {
    let machine = Machine::new();
    machine.release("v2");
    machine.installs("v2");
    fs::write(machine.root("v1").join("server/other"), "").unwrap();
    machine.sum("v1");
    fs::write(machine.server("v1"), "#!/bin/sh\necho evil\n").unwrap();
    let line = "the program in this copy of the plugin is damaged; reinstall the plugin";
    machine.refuses(line);
    // A power cut can leave a file without its content.
    fs::write(machine.server("v1"), "").unwrap();
    machine.fails(line);
    // The manifest is missing.
    machine.release("v3");
    fs::remove_file(machine.root("v3").join("manifest.sha256")).unwrap();
    let ran = machine.start("v3", &["install"]).says("").exits(1);
    assert_eq!(ran.stderr, format!("keyhole: {line}\n"));
}

#[test]
fn a_guard_that_cannot_be_run_denies() {
    let machine = Machine::new();
    machine.replace_server("v1", own(), "#!/nonexistent\n");
    for guard in [&["guard"][..], &["guard", "--after"]] {
        machine.start("v1", guard).says("").exits(2);
    }
    let exit = machine.start("v1", &["serve"]).says("").exit;
    assert_ne!(exit, Some(0));
}

#[test]
fn it_installs_without_sha256sum_as_on_macos() {
    let Some(shasum) = env::split_paths(&env::var_os("PATH").unwrap())
        .map(|directory| directory.join("shasum"))
        .find(|path| path.exists())
    else {
        panic!("no shasum on this machine: install perl, which brings it");
    };
    let machine = Machine::new();
    let tools = machine.temp.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let commands = COMMANDS.into_iter().filter(|name| *name != "sha256sum");
    for command in commands.chain(["sh", "perl", "uname"]) {
        std::os::unix::fs::symlink(real(command), tools.join(command)).unwrap();
    }
    std::os::unix::fs::symlink(shasum, tools.join("shasum")).unwrap();
    for (status, change) in [(0, ""), (1, "changed")] {
        let _ = fs::remove_dir_all(machine.data());
        let whole = fs::read_to_string(machine.server("v1")).unwrap();
        fs::write(machine.server("v1"), whole + change).unwrap();
        let mut command = machine.command("v1", &["install"]);
        let ran = Ran::of(command.env("PATH", &tools), b"").says("");
        assert_eq!(ran.exits(status).stderr.is_empty(), status == 0);
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
        let there = env::split_paths(&env::var_os("PATH").unwrap())
            .any(|directory| directory.join(shell[0]).exists());
        if !there {
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
