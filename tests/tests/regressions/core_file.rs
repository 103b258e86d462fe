//! A crash left a core file with the whole map and the last content in it; each process of
//! the same user could read the server's memory; and a command kept what its client had open.

use super::fuse::Hanging;
use crate::hostile::ground::fifo;
use keyhole_tests::{NOBODY, PATIENCE, Session, World, skipped};
use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, Resource, Signal, geteuid, getrlimit, kill_process},
};
use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Lets a program leave a core file of any size.
const CORES: &str = "ulimit -S -c \"$(ulimit -H -c)\"";

/// Each command that reads a map. The first ones wait for input before they do.
const COMMANDS: [&[&str]; 8] = [
    &["serve"],
    &["serve", "--agent", "reader"],
    &["serve", "--require-ticket"],
    &["guard"],
    &["inject"],
    &["check"],
    &["agents"],
    &["setup", "cursor"],
];

/// A command that waits: for its input, or for a map that hangs.
struct Waiting {
    command: &'static [&'static str],
    /// Dropped before the session: until then, a process that hangs cannot be killed.
    mount: Hanging,
    session: Session,
    world: World,
    /// The end of a FIFO in its directory.
    fifo: File,
}

/// Runs each command until it waits. `after` is what a shell does before.
fn while_each_waits(after: &str, then: impl Fn(&Waiting)) {
    for (at, command) in COMMANDS.into_iter().enumerate() {
        let world = World::new()
            .directory("hung")
            .directory("data")
            .link(".config/keyhole/context-map.toml", "../../hung/map.md");
        let data = world.path("data");
        let world = world.env("CLAUDE_PLUGIN_DATA", data).after(after);
        fifo(&world.path("fifo"));
        let world = world.unprivileged();
        let Some(mount) = Hanging::mount(&world.path("hung")) else {
            return;
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fifo = rustix::fs::open(world.path("fifo"), flags, Mode::empty());
        let waiting = Waiting {
            command,
            session: world.start(command),
            world,
            mount,
            fifo: fifo.unwrap().into(),
        };
        until(|| at < 5 || waiting.mount.hung() > 0);
        then(&waiting);
        waiting.mount.let_go();
    }
}

fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "it never was so");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The process and those that it started.
fn family(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().map(|id| id.parse().unwrap());
    [process].into_iter().chain(children).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
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
    while_each_waits(CORES, |waiting| {
        let may_leave = |process: &u32| {
            let limits = fs::read_to_string(format!("/proc/{process}/limits"));
            limits.is_ok_and(|limits| {
                let core = limits.lines().find(|line| line.starts_with("Max core"));
                core.is_none_or(|core| !core.split_whitespace().skip(4).take(2).eq(["0", "0"]))
            })
        };
        let before = names(waiting.world.home());
        let first = waiting.session.process_id();
        // If it waits for input, nothing else tells when it has begun. Before, it is a shell,
        // with another that ends.
        until(|| !family(first).iter().any(may_leave));
        if !can_leave {
            return;
        }
        let family = family(first);
        for process in &family {
            let id = Pid::from_raw(i32::try_from(*process).unwrap());
            kill_process(id.unwrap(), Signal::ABORT).unwrap();
        }
        // Until then, a process cannot end.
        waiting.mount.let_go();
        let is_gone = |process: &u32| {
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            status.map_or(true, |status| status.contains("State:\tZ"))
        };
        until(|| family.iter().all(is_gone));
        let after = names(waiting.world.home());
        assert_eq!(after, before, "{:?}", waiting.command);
    });
}

#[test]
fn the_same_user_cannot_read_the_servers_memory() {
    for (arguments, serves) in [
        (&[][..], true),
        (&["--agent", "reader"], true),
        (&["--require-ticket"], false),
    ] {
        let world = World::new().with_k1("content").directory("data");
        let data = world.path("data");
        let world = world.env("CLAUDE_PLUGIN_DATA", data).arguments(arguments);
        let world = world.unprivileged();
        let mut client = world.client();
        assert_eq!(client.load("k-1").text().is_some(), serves);
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

/// The end of a FIFO that the client holds open for writing when it starts the command.
#[test]
fn no_command_keeps_what_its_client_had_open() {
    while_each_waits("exec 9>fifo", |waiting| {
        // The end of the FIFO: nobody can write to it any more. As long as somebody has it
        // open, this is `WouldBlock`.
        until(|| match (&waiting.fifo).read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        });
        let program = fs::read_link(format!("/proc/{}/exe", waiting.session.process_id()));
        assert!(program.is_ok(), "{:?} has ended", waiting.command);
    });
}
