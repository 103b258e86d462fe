//! System calls from behind the wall.

use crate::{
    reach::{no_memory_can_be_executed, no_socket_is_made},
    world::{Attempt, Does::Behind, FILTERED, SEALED, WALLS, Wall, World},
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
    the_mapped_file_is_read: WALLS,
    no_other_file_is_read: SEALED,
    no_directory_is_listed: SEALED,
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

/// Asserts that Landlock refused the call.
#[track_caller]
fn denied<T: Debug>(what: &str, result: Result<T, Errno>) {
    assert_eq!(result.err(), Some(Errno::ACCESS), "{what}");
}

fn open(path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path.as_ref(), flags, Mode::from(0o600))
}

fn the_mapped_file_is_read(world: &World) {
    let note = open(world.note(), OFlags::RDONLY).unwrap();
    let text = std::io::read_to_string(File::from(note)).unwrap();
    assert_eq!(text, "granted/note.md");
    // The wall cannot be narrower than the directory with everything in it.
    let deep = open(world.path("granted/beneath/deep.md"), OFlags::RDONLY);
    assert!(deep.is_ok());
}

fn no_other_file_is_read(world: &World) {
    for name in [
        "map.toml",
        "other/private.md",
        "granted-private/note.md",
        "granted/../other/private.md",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/maps",
        "/proc/self/mem",
        "/dev/null",
        "/bin/sh",
    ] {
        denied(name, open(world.path(name), OFlags::RDONLY));
    }
}

fn no_directory_is_listed(world: &World) {
    for name in [
        "granted",
        "granted/beneath",
        "other",
        "",
        "/",
        "/proc/self/fd",
    ] {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        denied(name, open(world.path(name), flags));
    }
}

fn nothing_is_written(world: &World) {
    let is = |what: &str, result: Result<(), Errno>| refused(what, result);
    let opens = |what: &str, path: &Path, flags| refused(what, open(path, flags));
    for name in ["granted/note.md", "other/private.md", "map.toml"] {
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
    let first = world.path("tickets/first");
    let ticket = if first.exists() { "first" } else { "second" };
    let remove = |directory: &str, name| {
        let folder = open(world.path(directory), OFlags::RDONLY).unwrap();
        rustix::fs::unlinkat(folder, name, AtFlags::empty())
    };
    remove("tickets", ticket).unwrap();
    refused("a note", remove("granted", "note.md"));
    refused("a map", remove("", "map.toml"));
}

/// The metadata of any path, the process's own namespaces, and a terminal, unless the process is
/// sealed.
fn what_is_left_is_what_security_says(_: &World) {
    assert!(rustix::fs::stat("/etc/passwd").is_ok());
    assert!(open("/proc/self/ns/mnt", OFlags::RDONLY).is_ok());
    let is_sealed = File::open("/etc/passwd").is_err();
    if Path::new("/dev/ptmx").exists() {
        let opened = open("/dev/ptmx", OFlags::RDONLY | OFlags::NOCTTY);
        assert_eq!(opened.is_err(), is_sealed, "{opened:?}");
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
