//! What cannot be started or installed is one clear line, and leaves nothing.

use super::{
    super::mode,
    machine::{Machine, own, real},
};
use keyhole_tests::{NOBODY, Ran, skipped};
use rustix::process::geteuid;
use std::{fs, os::unix::fs::chown, process::Command};

#[test]
fn an_unknown_system_is_named() {
    for system in ["Linux riscv64", "Plan9 mips", ""] {
        let machine = Machine::new();
        fs::remove_file(machine.server("v1")).unwrap();
        machine.shim("uname", &format!("echo '{system}'"));
        machine.fails(&format!("there is no program for this system ({system})"));
    }
}

#[test]
fn a_copy_of_the_plugin_without_the_program_says_so() {
    let system = String::from_utf8(Command::new("uname").arg("-sm").output().unwrap().stdout);
    let machine = Machine::new();
    fs::remove_file(machine.server("v1")).unwrap();
    machine.fails(&format!(
        "this copy of the plugin holds no program for this system ({}); install a release of it",
        system.unwrap().trim()
    ));
}

/// What to do about a program that may not be run.
fn not_run() -> String {
    format!(
        "server/{} in the plugin's folder may not be run: run chmod u+x on it, or, if its file \
         system is mounted noexec, keep the plugin on another",
        own()
    )
}

#[test]
fn a_program_that_lost_its_execute_bit_says_what_to_do() {
    let machine = Machine::new();
    mode(&machine.server("v1"), 0o644);
    machine.fails(&not_run());
    mode(&machine.server("v1"), 0o744);
    machine.installs("v1");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_system_without_programs_says_what_to_do() {
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,noexec \"$1\" || exit 77; shift; exec \"$@\"";
    let mut machine = Machine::new();
    let folder = Box::leak(machine.root("v1").display().to_string().into_boxed_str());
    machine.shell = vec!["unshare", "-rm", "sh", "-c", mount, "sh", folder, "sh"];
    if machine.start("v1", &["install"]).exit == Some(77) {
        return skipped("nothing can be mounted");
    }
    machine.fails(&not_run());
}

#[test]
fn a_full_disk_is_one_clear_line_and_leaves_nothing() {
    let line =
        "the plugin's data folder cannot be written to; is the disk full, or the folder read-only?";
    for (command, script) in [
        (
            "cp",
            "head -c 9 \"$1\" >\"$2\"; echo 'No space left on device' >&2; exit 1",
        ),
        ("mv", "exit 1"),
    ] {
        let machine = Machine::new();
        machine.shim(command, script);
        machine.refuses(line);
        assert_eq!(machine.installed(), ["tickets"]);
        machine.remove_shims();
        machine.installs("v1");
    }
    // Not even the folder for tickets.
    let machine = Machine::new();
    let mkdir = real("mkdir");
    machine.shim(
        "mkdir",
        &format!(
            "case $* in *tickets) echo 'keyhole: full' >&2; exit 1;; esac; exec '{}' \"$@\"",
            mkdir.display()
        ),
    );
    machine.refuses("full");
    assert_eq!(machine.installed(), [] as [&str; 0]);
}

#[test]
fn a_read_only_data_folder_is_one_clear_line_unless_all_is_there_already() {
    let mut machine = Machine::new().real();
    fs::create_dir(machine.data()).unwrap();
    if geteuid().is_root() {
        // Permissions do not stop root.
        machine.nobody = true;
        chown(machine.data(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    mode(&machine.data(), 0o500);
    machine.refuses(
        "no ticket can be left in the plugin's data folder: the operating system denies it",
    );
    mode(&machine.data(), 0o700);
    machine.installs("v1");
    mode(&machine.data(), 0o500);
    machine.installs("v1");
    mode(&machine.data(), 0o700);
}

#[test]
fn a_data_folder_that_cannot_be_made_is_one_clear_line() {
    let machine = Machine::new();
    fs::write(machine.data(), "").unwrap();
    machine.refuses("the plugin's data folder cannot be made");
}

#[test]
fn a_data_folder_that_is_not_named_is_one_clear_line() {
    let machine = Machine::new();
    let line = "keyhole: the client did not say where the plugin's data folder is\n";
    for data in ["", "relative", "${CLAUDE_PLUGIN_DATA}"] {
        for (command, status) in [("serve", 1), ("guard", 2)] {
            let start = machine.root("v1").join("start.sh");
            let mut sh = Command::new("sh");
            let ran = Ran::of(sh.arg(start).args([data, command]), b"");
            assert_eq!(ran.says("").exits(status).stderr, line);
        }
    }
}
