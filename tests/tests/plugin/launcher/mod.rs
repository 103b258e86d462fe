//! `start.sh`, whatever happens to an installation.
//!
//! The servers here are small scripts that print their name, so that the test sees
//! what runs; all the rest is the plugin's own.

pub(crate) mod machine;

use super::mode;
use keyhole_tests::{NOBODY, Ran, skipped};
use machine::{Machine, own, real, servers};
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::{MetadataExt as _, chown},
    path::Path,
    process::Command,
    thread,
};

/// Every command that the launcher runs in an installation.
const COMMANDS: [&str; 6] = ["cmp", "sha256sum", "mkdir", "cp", "mv", "rm"];

const DAMAGED: &str = "the program in this copy of the plugin is damaged; reinstall the plugin";

#[test]
fn each_version_runs_its_own_program_in_its_own_folder_whatever_is_installed() {
    let machine = Machine::new();
    machine.runs("v1");
    assert!(machine.installed().is_empty());
    machine.installs("v1");
    assert_eq!(machine.installed(), ["manifest.sha256", "tickets"]);
    // The next session finds all as it should be, and writes nothing.
    let number = || {
        fs::metadata(machine.data().join("manifest.sha256"))
            .unwrap()
            .ino()
    };
    let before = number();
    machine.installs("v1");
    assert_eq!(number(), before);
    // A session from before an upgrade goes on.
    machine.release("v2");
    machine.installs("v2");
    machine.runs("v1");
    machine.runs("v2");
    machine.installs("v1");
    machine.runs("v2");
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

#[test]
fn a_program_that_is_not_there_or_may_not_be_run_is_one_clear_line() {
    let machine = Machine::new();
    mode(&machine.server("v1"), 0o644);
    machine.fails(&format!(
        "server/{} in the plugin's folder may not be run: run chmod u+x on it, or, if its file \
         system is mounted noexec, keep the plugin on another",
        own()
    ));
    mode(&machine.server("v1"), 0o744);
    machine.installs("v1");

    fs::remove_file(machine.server("v1")).unwrap();
    let system = Ran::of(Command::new("uname").arg("-sm"), b"").stdout;
    machine.fails(&format!(
        "this copy of the plugin holds no program for this system ({}); install a release of it",
        system.trim()
    ));
    machine.shim("uname", "echo Plan9 mips");
    machine.fails("there is no program for this system (Plan9 mips)");
}

/// Git's shell, and Cygwin's. The client may name the data folder as Windows does.
#[test]
fn on_windows_it_says_where_to_run_the_client() {
    let machine = Machine::new();
    fs::remove_file(machine.server("v1")).unwrap();
    let line = "Windows: in WSL2, where Linux's walls should stand; we have not run it there";
    for system in ["MINGW64_NT-10.0-26100", "MSYS_NT-10.0", "CYGWIN_NT-10.0"] {
        machine.shim("uname", &format!("echo {system}"));
        machine.fails(line);
    }
    let machine = machine.with_data("C:/Users/me/data".into());
    machine.fails(line);
}

#[test]
fn a_damaged_program_is_found_before_a_version_counts_as_installed() {
    let machine = Machine::new();
    machine.release("v2");
    machine.installs("v2");
    fs::write(machine.root("v1").join("server/other"), "").unwrap();
    machine.sum("v1");
    fs::write(machine.server("v1"), "#!/bin/sh\necho evil\n").unwrap();
    machine.refuses(DAMAGED);
    // A power cut can leave a file without its content.
    fs::write(machine.server("v1"), "").unwrap();
    machine.fails(DAMAGED);
    // The manifest is missing.
    machine.release("v3");
    fs::remove_file(machine.root("v3").join("manifest.sha256")).unwrap();
    let ran = machine.start("v3", &["install"]).says("").exits(1);
    assert_eq!(ran.stderr, format!("keyhole: {DAMAGED}\n"));
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

#[test]
fn nothing_in_the_data_folder_is_run_whoever_put_it_there() {
    let machine = Machine::new();
    fs::create_dir_all(machine.data().join("server")).unwrap();
    let sum = Sha256::digest(fs::read(machine.server("v1")).unwrap());
    for name in [
        &format!("keyhole-{sum:x}"),
        "start.sh",
        &format!("server/{}", own()),
    ] {
        let planted = machine.data().join(name);
        fs::write(&planted, "#!/bin/sh\necho evil\n").unwrap();
        mode(&planted, 0o777);
    }
    let manifest = machine.data().join("manifest.sha256");
    fs::copy(machine.root("v1").join("manifest.sha256"), manifest).unwrap();
    mode(&machine.data(), 0o777);
    machine.start("v1", &["install"]).says("").exits(0);
    machine.runs("v1");
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
fn a_full_disk_is_one_clear_line_and_leaves_nothing() {
    let full = "head -c 9 \"$1\" >\"$2\"; echo 'No space left on device' >&2; exit 1";
    for (command, script) in [("cp", full), ("mv", "exit 1")] {
        let machine = Machine::new();
        machine.shim(command, script);
        machine.refuses("the plugin's data folder cannot be written to; is the disk full, or the folder read-only?");
        assert_eq!(machine.installed(), ["tickets"]);
        machine.remove_shims();
        machine.installs("v1");
    }
}

#[test]
fn a_data_folder_that_is_not_named_not_made_or_read_only_is_one_clear_line() {
    let machine = Machine::new();
    let line = "keyhole: the client did not say where the plugin's data folder is\n";
    for data in ["", "relative", "${CLAUDE_PLUGIN_DATA}"] {
        for (command, status) in [("serve", 1), ("guard", 2)] {
            let start = machine.root("v1").join("start.sh");
            let ran = Ran::of(Command::new("sh").arg(start).args([data, command]), b"");
            assert_eq!(ran.says("").exits(status).stderr, line);
        }
    }
    fs::write(machine.data(), "").unwrap();
    machine.refuses("the plugin's data folder cannot be made");

    let mut machine = Machine::new().real();
    fs::create_dir(machine.data()).unwrap();
    if geteuid().is_root() {
        // Permissions do not stop root.
        machine.nobody = true;
        chown(machine.data(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    mode(&machine.data(), 0o500);
    machine.refuses(
        "the folder that Keyhole keeps tickets in cannot be used: the operating system denies it",
    );
    mode(&machine.data(), 0o700);
    machine.installs("v1");
    // Now all is there already.
    mode(&machine.data(), 0o500);
    machine.installs("v1");
    mode(&machine.data(), 0o700);
}

/// As macOS kills what is in quarantine, or has a broken signature.
#[test]
fn a_program_that_the_system_kills_or_cannot_load_is_one_clear_line() {
    for (script, status) in [("#!/bin/sh\nkill -9 $$\n", 137), ("#!/nonexistent\n", 126)] {
        let machine = Machine::new();
        machine.replace_server("v1", own(), script);
        let ran = machine.start("v1", &["install"]).says("").exits(1);
        let line = "keyhole: the program in this copy of the plugin cannot be run (status ";
        let (_, said) = ran.stderr.split_once(line).unwrap();
        // Shells differ in what they report of a missing interpreter.
        let reported = said.split_once(')').unwrap().0.parse::<u8>().unwrap();
        let is_missing = (status, reported) == (126, 127);
        assert!(reported == status || is_missing, "{ran:?}");
        assert!(said.contains("xattr -dr com.apple.quarantine"), "{ran:?}");
        assert_eq!(machine.manifest(), b"");
    }
}

/// There, the kernel would end the program without a word.
#[cfg(target_os = "linux")]
#[test]
fn on_android_it_says_that_this_is_not_supported() {
    let machine = Machine::new();
    let script = machine.root("v1").join("start.sh");
    let text = fs::read_to_string(&script).unwrap();
    let androids = "/system/bin/app_process";
    assert!(text.contains(androids));
    fs::write(&script, text.replace(androids, "/")).unwrap();
    machine
        .fails("Android is not supported: its kernel ends programs for calls that this one makes");
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
