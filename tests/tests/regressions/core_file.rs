//! A crash left a core file with the whole map and the last content in it; each process of
//! the same user could read the server's memory; and a command kept what its client had open.

use crate::hostile::ground::fifo;
use keyhole_tests::{NOBODY, PATIENCE, Session, World, skipped};
use rustix::{
    fs::{Mode, OFlags},
    process::{Resource, Signal, geteuid, getrlimit},
};
use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    os::unix::process::CommandExt as _,
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Lets a program leave a core file of any size.
const CORES: &str = "ulimit -S -c \"$(ulimit -H -c)\"";

/// Each command that waits for its input. All other commands begin as these do.
const COMMANDS: [&[&str]; 6] = [
    &["serve"],
    &["serve", "--agent", "reader"],
    &["serve", "--require-ticket"],
    &["guard"],
    &["inject"],
    &["withhold"],
];

/// A user whose commands a shell starts after it has done this.
fn user(after: &str) -> World {
    World::new().plugin_data().after(after)
}

/// Waits until `holds`, and until the shell has become the program, which hides what it is.
#[track_caller]
fn until(session: &Session, holds: impl Fn() -> bool) {
    let began = Instant::now();
    let exe = format!("/proc/{}/exe", session.process_id());
    let shell = fs::canonicalize("/bin/sh").unwrap();
    while fs::read_link(&exe).is_ok_and(|exe| exe == shell) || !holds() {
        assert!(began.elapsed() < PATIENCE, "it never was so");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a test can see a core file, and not only that the limit forbids it.
fn can_leave_cores() -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let why = if pattern.starts_with('|') || pattern.contains('/') {
        "this system puts cores elsewhere"
    } else if getrlimit(Resource::Core).maximum == Some(0) {
        "core files are forbidden here"
    } else {
        return true;
    };
    skipped(why);
    false
}

#[test]
fn no_command_leaves_a_core_file() {
    let can_leave = can_leave_cores();
    for command in COMMANDS {
        let world = user(CORES).unprivileged();
        let session = world.start(command);
        let limits = format!("/proc/{}/limits", session.process_id());
        until(&session, || {
            let limits = fs::read_to_string(&limits).unwrap();
            let core = limits.lines().find(|line| line.starts_with("Max core"));
            core.is_some_and(|core| core.split_whitespace().skip(4).take(2).eq(["0", "0"]))
        });
        if can_leave {
            let names = || fs::read_dir(world.home()).unwrap().count();
            let before = names();
            session.signal(Signal::ABORT);
            assert_eq!(session.ended().exit, None, "{command:?}");
            assert_eq!(names(), before, "{command:?}");
        }
    }
}

/// Whether the user of these tests is refused this file of a process of the same user.
fn is_kept(session: &Session, file: &str) -> bool {
    let mut read = Command::new("/bin/cat");
    read.arg(format!("/proc/{}/{file}", session.process_id()));
    if geteuid().is_root() {
        read.uid(NOBODY).gid(NOBODY);
    }
    let output = read.output().unwrap();
    // Otherwise `mem` fails too, at its first byte.
    String::from_utf8_lossy(&output.stderr).contains("Permission denied")
}

#[test]
fn the_same_user_cannot_read_the_memory_of_any_command() {
    for command in COMMANDS {
        let session = World::new().plugin_data().unprivileged().start(command);
        until(&session, || {
            let files = ["mem", "maps", "environ", "auxv"];
            files.iter().all(|file| is_kept(&session, file))
        });
        is_running(&session);
    }
}

#[track_caller]
fn is_running(session: &Session) {
    let status = format!("/proc/{}/status", session.process_id());
    let status = fs::read_to_string(status).unwrap();
    assert!(!status.contains("State:\tZ"), "{status}");
}

/// The end of a FIFO that the client holds open for writing when it starts the command.
#[test]
fn no_command_keeps_what_its_client_had_open() {
    for command in COMMANDS {
        let world = user("exec 9>fifo");
        let path = world.path("fifo");
        fifo(&path);
        let world = world.unprivileged();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fifo = rustix::fs::open(&path, flags, Mode::empty());
        let fifo = File::from(fifo.unwrap());
        let session = world.start(command);
        // The end of the FIFO: nobody can write to it any more. As long as somebody has it
        // open, this is `WouldBlock`.
        until(&session, || match (&fifo).read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        });
        is_running(&session);
    }
}
