//! System calls from behind the wall.

use crate::{
    reach::{no_memory_can_be_executed, no_socket_is_made},
    world::{Attempt, Does::Behind, FILTERED, ROOTS, WALLS, Wall, World},
};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::{CStr, CString},
    fmt::Debug,
    fs::File,
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::Path,
};

/// Each attempt under its function's name.
macro_rules! attempts {
    ($($name:ident: $walls:expr,)+) => { [$((stringify!($name), Behind($name), $walls)),+] };
}

pub(crate) const ATTEMPTS: [Attempt; 11] = attempts! {
    what_is_beneath_the_roots_is_read: WALLS,
    no_other_file_is_read: ROOTS,
    out_of_a_root_leads_no_path_and_what_root_has_put_in_it_is_in_it: ROOTS,
    nothing_is_written: WALLS,
    only_a_ticket_is_deleted: &[Wall::Tickets],
    nothing_is_executed: WALLS,
    no_memory_can_be_executed: FILTERED,
    no_socket_is_made: FILTERED,
    a_socket_from_before_reaches_nobody: WALLS,
    a_panic_still_says_its_line: FILTERED,
    what_is_left_is_what_security_says: WALLS,
};

/// Asserts that one part of the wall refused the call. Nothing else refuses it
/// here: the files are this user's own.
#[track_caller]
fn refused<T: Debug>(what: &str, result: Result<T, impl Into<io::Error>>) {
    let error = result.expect_err(what).into();
    let known = [Errno::NOSYS, Errno::PERM, Errno::ACCESS];
    let is_known = known
        .map(|known| Some(known.raw_os_error()))
        .contains(&error.raw_os_error());
    assert!(is_known, "{what}: {error}");
}

#[track_caller]
fn denied<T: Debug>(what: &str, result: Result<T, Errno>) {
    assert_eq!(result.err(), Some(Errno::ACCESS), "{what}");
}

fn open(path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path.as_ref(), flags, Mode::from(0o600))
}

fn what_is_beneath_the_roots_is_read(world: &World) {
    let note = open(world.note(), OFlags::RDONLY).unwrap();
    let text = std::io::read_to_string(File::from(note)).unwrap();
    assert_eq!(text, "granted/note.md");
    let and = |name| open(world.path(name), OFlags::RDONLY).unwrap();
    for name in "granted/beneath/deep.md map/map.toml other/../granted/note.md".split(' ') {
        let _ = and(name);
    }
    // A file that is saved by renaming is another file, and one that is made again, too.
    let _ = and("granted/hard.md");
}

fn no_other_file_is_read(world: &World) {
    let parent = format!("/proc/{}/environ", world.parent.as_raw_nonzero());
    for name in [
        "other/private.md",
        "granted-private/note.md",
        "granted/../other/private.md",
        "map/../other/private.md",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/maps",
        "/proc/self/mem",
        &parent,
        "/dev/null",
        "/bin/sh",
    ] {
        match open(world.path(name), OFlags::RDONLY) {
            // Not every system has it, or lets this user open it.
            Err(Errno::NOENT | Errno::ACCESS) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    // These are there, and this user's own.
    for name in ["other/private.md", "/proc/self/maps", "/proc/self/mem"] {
        denied(name, open(world.path(name), OFlags::RDONLY));
    }
}

/// A link leads out of a root, and is not followed beyond. Another name of a file is the file
/// itself, and what root has mounted in a root is in it.
fn out_of_a_root_leads_no_path_and_what_root_has_put_in_it_is_in_it(world: &World) {
    for name in ["granted/link.md", "granted/up/private.md", "out.md"] {
        denied(name, open(world.path(name), OFlags::RDONLY));
    }
    // `hard.md` is `other/hard.md`. Only under the name in the root it is in the root.
    assert!(open(world.path("granted/hard.md"), OFlags::RDONLY).is_ok());
    denied("hard", open(world.path("other/hard.md"), OFlags::RDONLY));
    let bound = world.path("granted/mount/private.md");
    match bound.exists() {
        true => assert!(open(bound, OFlags::RDONLY).is_ok()),
        false => eprintln!("skipped: a bind mount in a root (only root can make one)"),
    }
}

fn nothing_is_written(world: &World) {
    let is = |what: &str, result: Result<(), Errno>| refused(what, result);
    let opens = |what: &str, path: &Path, flags| refused(what, open(path, flags));
    for name in ["granted/note.md", "other/private.md", "map/map.toml"] {
        let path = world.path(name);
        for flags in [
            OFlags::WRONLY,
            OFlags::RDWR,
            OFlags::WRONLY | OFlags::APPEND,
            OFlags::RDONLY | OFlags::TRUNC,
        ] {
            opens(name, &path, flags);
        }
        refused(name, nix::unistd::truncate(&path, 0));
        is(name, rustix::fs::unlink(&path));
        is(name, rustix::fs::rename(&path, world.path("granted/b.md")));
        for other in ["granted/beneath/deep.md", "data/tickets/second"] {
            is(other, rustix::fs::rename(world.path(other), &path));
        }
    }
    // By this one, a process changes its own machine code.
    opens("memory", Path::new("/proc/self/mem"), OFlags::RDWR);
    for name in ["granted/x", "other/x", "/tmp/keyhole-test-x", "/dev/shm/x"] {
        let path = world.path(name);
        opens(name, &path, OFlags::WRONLY | OFlags::CREATE);
        opens(name, &path, OFlags::RDONLY | OFlags::CREATE);
        is(name, rustix::fs::mkdir(&path, Mode::from(0o700)));
        is(name, rustix::fs::symlink("note.md", &path));
        for kind in [FileType::Fifo, FileType::Socket] {
            let made = rustix::fs::mknodat(CWD, &path, kind, Mode::from(0o600), 0);
            is(name, made);
        }
    }
    is(
        "link",
        rustix::fs::link(world.note(), world.path("granted/x")),
    );
    is("rmdir", rustix::fs::rmdir(world.path("granted/empty")));
    let temporary = OFlags::WRONLY | OFlags::TMPFILE;
    opens("unnamed", &world.path("granted"), temporary);
}

fn only_a_ticket_is_deleted(world: &World) {
    let first = world.path("data/tickets/first");
    let ticket = if first.exists() { "first" } else { "second" };
    let remove = |directory: &str, name| {
        let folder = open(world.path(directory), OFlags::RDONLY).unwrap();
        rustix::fs::unlinkat(folder, name, AtFlags::empty())
    };
    remove("data/tickets", ticket).unwrap();
    refused("a note", remove("granted", "note.md"));
    refused("a map", remove("map", "map.toml"));
}

/// The metadata of any path, where links lead, the names in a directory, and the process's own
/// namespaces; without roots, also a terminal.
fn what_is_left_is_what_security_says(world: &World) {
    assert!(rustix::fs::stat("/etc/passwd").is_ok());
    assert!(rustix::fs::readlinkat(CWD, world.path("out.md"), Vec::new()).is_ok());
    assert!(open(world.path("other"), OFlags::RDONLY | OFlags::DIRECTORY).is_ok());
    assert!(open("/proc/self/ns/mnt", OFlags::RDONLY).is_ok());
    let has_roots = File::open("/etc/passwd").is_err();
    if Path::new("/dev/ptmx").exists() {
        let opened = open("/dev/ptmx", OFlags::RDONLY | OFlags::NOCTTY);
        assert_eq!(opened.is_err(), has_roots, "{opened:?}");
    }
}

fn nothing_is_executed(world: &World) {
    assert!(rustix::thread::no_new_privs().unwrap_or(true));
    for program in ["/bin/true", "/bin/su", "/proc/self/exe", "granted/note.md"] {
        let path = CString::new(world.path(program).into_os_string().into_vec()).unwrap();
        let arguments: [&CStr; 0] = [];
        refused(program, nix::unistd::execve(&path, &arguments, &arguments));
    }
}

fn a_socket_from_before_reaches_nobody(world: &World) {
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let connected = rustix::net::connect(&world.socket, &world.listening);
    refused("connect", connected);
    refused("bind", rustix::net::bind(&world.socket, &any));
}

/// The server's own panic hook writes such a line, and so does the standard library's. Who
/// started this process looks for it.
fn a_panic_still_says_its_line(_: &World) {
    let panicked = std::panic::catch_unwind(|| {
        let none: Option<u8> = std::hint::black_box(None);
        none.unwrap()
    });
    assert!(panicked.is_err());
}
