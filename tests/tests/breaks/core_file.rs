//! A crash of the server left a core file, with the whole map and the last content
//! in it; and each process of the same user could read its memory.

use keyhole_tests::{NOBODY, World, skipped};
use rustix::process::{Resource, Signal, geteuid, getrlimit};
use std::{fs, os::unix::process::CommandExt as _, path::Path, process::Command};

/// A server that may leave a core file of any size, in its own directory.
fn world() -> World {
    let shell = "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$0\" \"$@\"";
    World::new()
        .file("1.md", "content")
        .map("[keys]\nk-1 = '~/1.md'\n")
        .through(["/bin/sh", "-c", shell])
        .unprivileged()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_crash_leaves_no_core_file() {
    let this = "breaks::core_file::a_crash_leaves_no_core_file";
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with('|') || pattern.contains('/') {
        return skipped(this, "this system puts cores elsewhere");
    }
    if getrlimit(Resource::Core).maximum == Some(0) {
        return skipped(this, "core files are forbidden here");
    }
    for arguments in [&[][..], &["--agent", "reader"], &["--sealed"]] {
        // Not QUIT: a shell has what it starts in the background ignore it.
        for signal in [Signal::TRAP, Signal::ABORT, Signal::SYS] {
            let world = arguments.iter().fold(world(), World::argument);
            let before = names(world.home());
            let mut client = world.client();
            client.load("k-1").is("content");
            client.signal(signal);
            assert_eq!(client.ended().exit, None, "{signal:?}");
            assert_eq!(names(world.home()), before, "{arguments:?} {signal:?}");
        }
    }
}

#[test]
fn the_same_user_cannot_read_the_servers_memory() {
    for arguments in [&[][..], &["--sealed"]] {
        let world = arguments.iter().fold(world(), World::argument);
        let mut client = world.client();
        client.load("k-1").is("content");
        for file in ["mem", "maps", "environ", "auxv"] {
            let mut read = Command::new("/bin/cat");
            read.arg(format!("/proc/{}/{file}", client.process_id()));
            if geteuid().is_root() {
                read.uid(NOBODY).gid(NOBODY);
            }
            let output = read.output().unwrap();
            assert!(!output.status.success(), "{file}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{file}");
            // Otherwise `mem` fails too, at its first byte.
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("Permission denied"), "{said}");
        }
        client.end();
    }
}
