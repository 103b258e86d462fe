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
use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path, thread};

/// Every command that the launcher runs, at least during an installation.
const COMMANDS: [&str; 9] = [
    "uname", "id", "ls", "rm", "mkdir", "find", "cp", "chmod", "mv",
];

#[test]
fn the_first_start_installs_and_runs() {
    let machine = Machine::new();
    machine.runs("v1");
    let server = machine.server("v1");
    let name = server.file_name().unwrap().to_str().unwrap();
    assert_eq!(machine.installed(), [name, "manifest.sha256"]);
    let mode = fs::metadata(&server).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn a_second_start_writes_nothing() {
    let machine = Machine::new();
    machine.runs("v1");
    let files = [machine.server("v1"), machine.data().join("manifest.sha256")];
    let before = files.each_ref().map(|file| identity(file));
    machine.runs("v1");
    assert_eq!(files.each_ref().map(|file| identity(file)), before);
}

/// Each program that the script runs takes as long as all the rest of it. Times would
/// vary; the number of programs does not.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "elsewhere, it asks one by one")]
fn a_start_that_finds_all_in_order_runs_one_program() {
    let machine = Machine::new();
    machine.runs("v1");
    let ran = machine.temp.path().join("ran");
    for command in COMMANDS.into_iter().chain(["cmp", "stat", "grep"]) {
        let noted = format!("echo {command} >>\"${{0%/*}}/../ran\"");
        let real = real(command);
        machine.shim(
            command,
            &format!("{noted}; exec '{}' \"$@\"", real.display()),
        );
    }
    for arguments in [&["serve"][..], &["guard"], &["agents"]] {
        machine.start("v1", arguments).exits(0);
        // Linux before 6.1 does not say which machine it is.
        let programs = match Path::new("/proc/sys/kernel/arch").exists() {
            true => "ls\n",
            false => "uname\nls\n",
        };
        assert_eq!(fs::read_to_string(&ran).unwrap(), programs);
        fs::remove_file(&ran).unwrap();
    }
}

/// One listing does not show where a link leads: then the script checks the path step
/// by step, as for an installation.
#[test]
fn what_one_listing_cannot_tell_is_asked_step_by_step_and_runs_all_the_same() {
    let machine = Machine::new();
    machine.runs("v1");
    let link = machine.temp.path().join("link");
    std::os::unix::fs::symlink(machine.data(), &link).unwrap();
    let there = machine.data();
    let machine = machine.with_data(link);
    machine.runs("v1");
    // Also if the path is written in another way.
    let machine = machine.with_data(there.join("..").join(there.file_name().unwrap()));
    machine.runs("v1");
}

#[test]
fn arguments_streams_and_exit_code_are_the_servers_own() {
    let machine = Machine::new();
    machine.replace_server(
        "v1",
        own(),
        "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done; cat; echo no >&2\n\
         [ \"$CLAUDE_PLUGIN_DATA\" = \"${0%/*}\" ] || exit 9\nexit 7\n",
    );
    let ran = machine
        .start("v1", &["serve", "", "a b", "*", "$x", "'\"\\"])
        .says("<serve><><a b><*><$x><'\"\\>input\n")
        .exits(7);
    assert_eq!(ran.stderr, "no\n");
}

#[test]
fn servers_of_past_days_are_removed_and_todays_are_kept() {
    let machine = Machine::new();
    machine.release("v2");
    machine.release("v3");
    machine.runs("v1");
    machine.runs("v2");
    fs::write(machine.data().join("server.99.tmp"), "").unwrap();
    fs::create_dir(machine.data().join("tickets")).unwrap();
    for old in [machine.server("v1"), machine.data().join("server.99.tmp")] {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
        fs::File::open(old).unwrap().set_modified(long_ago).unwrap();
    }
    machine.runs("v3");
    assert!(!machine.server("v1").exists());
    assert!(machine.server("v2").exists());
    assert!(machine.data().join("tickets").exists());
    assert_eq!(machine.installed().len(), 4);
}

#[test]
fn an_installation_that_was_cut_short_is_made_again() {
    let empty = |path: &Path| fs::write(path, "").unwrap();
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    for harm in [
        // It was killed before the end.
        &|machine: &Machine| remove(&machine.data().join("manifest.sha256")),
        // A power cut.
        &|machine: &Machine| empty(&machine.data().join("manifest.sha256")),
        &|machine: &Machine| empty(&machine.server("v1")),
        // Somebody removed files.
        &|machine: &Machine| remove(&machine.server("v1")),
        &|machine: &Machine| mode(&machine.server("v1"), 0o600),
        &|machine: &Machine| fs::remove_dir_all(machine.data()).unwrap(),
    ] as [&dyn Fn(&Machine); 6]
    {
        let machine = Machine::new();
        machine.runs("v1");
        harm(&machine);
        machine.runs("v1");
        assert_eq!(machine.installed().len(), 2);
    }
}

/// Each command of the launcher is a point at which it may be killed, before or
/// after the command has done its work.
#[test]
fn a_kill_at_any_point_is_fixed_by_the_next_start() {
    for (when, after) in [("before", false), ("after", true)] {
        for command in COMMANDS {
            for nth in 1..=2 {
                let machine = Machine::new();
                machine.release("v2");
                for version in ["v1", "v2", "v1"] {
                    machine.runs(version);
                }
                if command == "mkdir" {
                    fs::remove_dir_all(machine.data()).unwrap();
                }
                let count = machine.temp.path().join("count");
                let work = format!("'{}' \"$@\"", real(command).display());
                let work_first = if after { &work } else { ":" };
                machine.shim(
                    command,
                    &format!(
                        "echo >>\"{count}\"\n\
                         [ \"$(wc -l <\"{count}\")\" -eq {nth} ] || exec {work}\n\
                         {work_first}\nkill -9 $PPID",
                        count = count.display().to_string().replace('$', "\\$"),
                    ),
                );
                let killed = machine.start("v2", &["serve"]).exit.is_none();
                machine.remove_shims();
                machine.runs("v2");
                machine.runs("v1");
                // Some shells run a command for its output in a copy of themselves.
                // The kill then hits the copy, and the launcher fails.
                let is_run = nth == 1 || ["rm", "cp", "mv"].contains(&command);
                if !["uname", "id", "ls"].contains(&command) {
                    assert_eq!(killed, is_run, "{when} {command} {nth}");
                }
            }
        }
    }
}

#[test]
fn versions_that_start_at_once_each_run_their_own_server() {
    let machine = Machine::new();
    machine.release("v2");
    for _ in 0..4 {
        let _ = fs::remove_dir_all(machine.data());
        thread::scope(|scope| {
            for version in ["v1", "v2", "v1", "v2", "v1", "v2"] {
                let machine = &machine;
                scope.spawn(move || machine.runs(version));
            }
        });
        machine.runs("v1");
    }
}

#[test]
fn each_system_gets_its_own_server() {
    for (name, systems) in servers() {
        for system in systems {
            let machine = Machine::new();
            machine.shim("uname", &format!("[ \"$*\" = -sm ] && echo '{system}'"));
            machine
                .start("v1", &["serve"])
                .says(&format!("v1 {name} input serve\n"))
                .exits(0);
        }
    }
}

#[test]
fn a_damaged_server_is_not_installed() {
    let machine = Machine::new();
    machine.runs("v1");
    let server = machine.root("v1").join("server").join(own());
    fs::write(machine.root("v1").join("server/other"), "").unwrap();
    machine.sum("v1");
    fs::write(server, "#!/bin/sh\necho evil\n").unwrap();
    machine.fails("the server in this copy of the plugin is damaged; reinstall the plugin");
}

/// At the start of a session there is time to check the sum.
#[test]
fn an_installed_server_that_was_damaged_is_installed_again() {
    let machine = Machine::new();
    machine.runs("v1");
    let whole = fs::read(machine.server("v1")).unwrap();
    fs::write(machine.server("v1"), "#!/bin/sh\necho half\n").unwrap();
    machine
        .start("v1", &["install"])
        .says("")
        .says_nothing_on_stderr()
        .exits(0);
    assert_eq!(fs::read(machine.server("v1")).unwrap(), whole);
    machine.runs("v1");
}

#[test]
fn a_guard_that_cannot_be_run_denies() {
    let machine = Machine::new();
    machine.replace_server("v1", own(), "#!/nonexistent\n");
    machine.start("v1", &["guard"]).says("").exits(2);
    let exit = machine.start("v1", &["serve"]).says("").exit;
    assert_ne!(exit, Some(0));
}

#[test]
fn it_works_without_sha256sum_as_on_macos() {
    let Some(shasum) = env::split_paths(&env::var_os("PATH").unwrap())
        .map(|directory| directory.join("shasum"))
        .find(|path| path.exists())
    else {
        panic!("no shasum on this machine: install perl, which brings it");
    };
    let machine = Machine::new();
    let tools = machine.temp.path().join("tools");
    fs::create_dir(&tools).unwrap();
    for command in COMMANDS.into_iter().chain(["sh", "perl", "cat"]) {
        std::os::unix::fs::symlink(real(command), tools.join(command)).unwrap();
    }
    std::os::unix::fs::symlink(shasum, tools.join("shasum")).unwrap();
    let mut command = machine.command("v1", &["serve"]);
    Ran::of(command.env("PATH", &tools), b"input\n")
        .says_nothing_on_stderr()
        .says(&format!("v1 {} input serve\n", own()))
        .exits(0);
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
            skipped(shell[0], "it is not on this machine");
            continue;
        }
        let mut machine = Machine::new();
        machine.shell = shell.to_vec();
        machine.runs("v1");
        machine.runs("v1");
        fs::remove_file(machine.data().join("manifest.sha256")).unwrap();
        machine.shim("uname", "echo Plan9 mips");
        machine.fails("there is no server for this system (Plan9 mips)");
        machine.remove_shims();
        fs::remove_file(machine.root("v1").join("manifest.sha256")).unwrap();
        machine.start("v1", &["guard"]).says("").exits(2);
    }
}
