//! What cannot be installed is one clear line, and leaves nothing.

use super::{
    super::mode,
    machine::{Machine, own, real},
};
use keyhole_tests::{NOBODY, Ran};
use rustix::process::geteuid;
use std::{fs, os::unix::fs::chown, process::Command};

#[test]
fn an_unknown_system_is_named() {
    for system in ["Linux riscv64", "Plan9 mips", ""] {
        let machine = Machine::new();
        machine.shim("uname", &format!("echo '{system}'"));
        machine.fails(&format!("there is no server for this system ({system})"));
    }
}

#[test]
fn a_copy_of_the_plugin_without_servers_says_so() {
    let system = String::from_utf8(Command::new("uname").arg("-sm").output().unwrap().stdout);
    let line = format!(
        "this copy of the plugin holds no server for this system ({}); install a release of it",
        system.unwrap().trim()
    );
    let machine = Machine::new();
    fs::remove_file(machine.root("v1").join("server").join(own())).unwrap();
    machine.sum("v1");
    machine.fails(&line);
    fs::remove_file(machine.root("v1").join("manifest.sha256")).unwrap();
    machine.fails(&line);
}

#[test]
fn a_full_disk_is_one_clear_line_and_leaves_nothing() {
    let no_copy = "the server cannot be copied into the plugin's data folder; \
                   is the disk full, or the folder read-only?";
    let machine = Machine::new();
    machine.shim(
        "cp",
        "head -c 9 \"$1\" >\"$2\"; echo 'No space left on device' >&2; exit 1",
    );
    machine.fails(no_copy);
    assert_eq!(machine.installed(), [] as [&str; 0]);

    // A cp that does not notice.
    machine.shim("cp", "head -c 9 \"$1\" >\"$2\"");
    machine.fails("the server in this copy of the plugin is damaged; reinstall the plugin");
    assert_eq!(machine.installed(), [] as [&str; 0]);

    // Space for the server, but not for the manifest.
    let cp = real("cp");
    machine.shim(
        "cp",
        &format!(
            "case $1 in *manifest*) : >\"$2\"; exit 1;; esac; exec '{}' \"$@\"",
            cp.display()
        ),
    );
    machine.fails("the plugin's data folder cannot be written to; is the disk full?");
    machine.remove_shims();
    machine.runs("v1");
    assert_eq!(machine.installed().len(), 2);
}

#[test]
fn a_read_only_data_folder_is_one_clear_line_unless_all_is_there_already() {
    let mut machine = Machine::new();
    fs::create_dir(machine.data()).unwrap();
    if geteuid().is_root() {
        // Permissions do not stop root.
        machine.nobody = true;
        chown(machine.data(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    mode(&machine.data(), 0o500);
    machine.fails(
        "the server cannot be copied into the plugin's data folder; \
         is the disk full, or the folder read-only?",
    );
    mode(&machine.data(), 0o700);
    machine.runs("v1");
    mode(&machine.data(), 0o500);
    machine.runs("v1");
    mode(&machine.data(), 0o700);
}

#[test]
fn a_data_folder_that_cannot_be_made_is_one_clear_line() {
    let machine = Machine::new();
    fs::write(machine.data(), "").unwrap();
    machine.fails("the plugin's data folder cannot be created");
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
