//! System calls from behind the wall.

use crate::{reach, walk};
use keyhole::{
    FrozenMap, LiveMap, Location,
    limits::Limits,
    seal::{Reach, Seal},
};
use libtest_mimic::{Failed, Trial};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{ptrace, uio},
};
use rustix::{
    fs::{AtFlags, CWD, FileType, IFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags},
    io::Errno,
    net::{AddressFamily, SocketType},
    process::{Gid, Resource, Uid},
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::{
    collections::BTreeMap,
    ffi::{CStr, CString},
    fmt::Debug,
    fs::{self, File},
    io::IoSliceMut,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStringExt as _, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
};
use tempfile::TempDir;

/// The variable with the name of the attempt that this process must make.
const ATTEMPT: &str = "KEYHOLE_TEST_ATTEMPT";
/// The variable with the name of the wall behind which it makes the attempt.
const WALL: &str = "KEYHOLE_TEST_WALL";
/// The variable with the directory in which it makes the attempt.
const WORLD: &str = "KEYHOLE_TEST_WORLD";

/// The variable with the numbers of the System V objects.
const IPC: &str = "KEYHOLE_TEST_IPC";

/// A wall behind which an attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wall {
    /// The wall of `serve`.
    Plain,
    /// The wall of `serve --require-ticket`.
    Tickets,
    /// The wall of `serve --sealed`.
    Sealed,
    /// The wall of `serve` on a kernel without filters of system calls.
    LandlockAlone,
    /// The wall of `serve` on a kernel without Landlock.
    FilterAlone,
}

const WALLS: [Wall; 5] = [
    Wall::Plain,
    Wall::Tickets,
    Wall::Sealed,
    Wall::LandlockAlone,
    Wall::FilterAlone,
];
/// The walls with a filter.
pub(crate) const FILTERED: &[Wall] = &[Wall::Plain, Wall::Tickets, Wall::Sealed, Wall::FilterAlone];
pub(crate) const SEALED: &[Wall] = &[Wall::Sealed];

/// A name, the attempt, and the walls that must withstand it.
pub(crate) type Attempt = (&'static str, fn(&World), &'static [Wall]);

const ATTEMPTS: [Attempt; 12] = [
    ("the_mapped_file_is_read", the_mapped_file_is_read, &WALLS),
    ("no_other_file_is_read", no_other_file_is_read, SEALED),
    ("no_directory_is_listed", no_directory_is_listed, SEALED),
    ("nothing_is_written", nothing_is_written, &WALLS),
    (
        "only_a_ticket_is_deleted",
        only_a_ticket_is_deleted,
        &[Wall::Tickets],
    ),
    ("no_attribute_is_changed", no_attribute_is_changed, FILTERED),
    ("nothing_is_executed", nothing_is_executed, &WALLS),
    ("no_socket_is_made", no_socket_is_made, FILTERED),
    (
        "a_socket_from_before_reaches_nobody",
        a_socket_from_before_reaches_nobody,
        &WALLS,
    ),
    (
        "other_processes_are_out_of_reach",
        other_processes_are_out_of_reach,
        FILTERED,
    ),
    ("root_changes_nothing", root_changes_nothing, FILTERED),
    (
        "a_panic_still_says_its_line",
        a_panic_still_says_its_line,
        FILTERED,
    ),
];

fn attempts() -> impl Iterator<Item = Attempt> {
    ATTEMPTS.into_iter().chain(reach::ATTEMPTS)
}

/// One test for each attempt and wall, and one in which a second thread prevents
/// the wall.
pub(crate) fn trials() -> Vec<Trial> {
    attempts()
        .flat_map(|(name, _, walls)| walls.iter().map(move |wall| (name, *wall)))
        .map(|(name, wall)| {
            let title = format!("{name} ({wall:?})");
            Trial::test(title, move || in_a_process(name, wall))
        })
        .chain([Trial::test(
            "a_process_with_a_second_thread_is_not_sealed",
            || in_a_process("threads", Wall::Sealed),
        )])
        .collect()
}

/// Makes the attempt for which this process was started, if there is one.
pub(crate) fn child() -> Option<ExitCode> {
    let name = std::env::var(ATTEMPT).ok()?;
    let wall = std::env::var(WALL).ok()?;
    let wall = WALLS
        .into_iter()
        .find(|known| format!("{known:?}") == wall)?;
    let world = World::enter(PathBuf::from(std::env::var_os(WORLD)?));
    match &*name {
        "threads" => {
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            let other = thread::spawn(move || stopped.recv());
            let refused = world.put_up(wall).unwrap_err();
            assert!(matches!(refused, keyhole::seal::SealError::NotAlone));
            drop(stop);
            let _ = other.join();
            return Some(ExitCode::SUCCESS);
        }
        "walk" => return Some(walk::child(&world, wall)),
        _ => {}
    }
    // A call that is let through by mistake must not reach a terminal.
    let _ = nix::unistd::setsid();
    let (_, attempt, _) = attempts().find(|(known, ..)| *known == name)?;
    world.put_up(wall).unwrap();
    // The attempt is made twice: in the thread that put the wall up, and in a new
    // thread, as calls run in.
    attempt(&world);
    let done = thread::scope(|scope| scope.spawn(|| attempt(&world)).join());
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Creates a world in a directory of its own, and a process that makes the attempt
/// there.
pub(crate) fn in_a_process(name: &str, wall: Wall) -> Result<(), Failed> {
    let world = TempDir::new()?;
    for file in [
        "granted/note.md",
        "granted/beneath/deep.md",
        "granted-private/note.md",
        "other/private.md",
        "tickets/first",
        "tickets/second",
    ] {
        let path = world.path().join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, file)?;
    }
    std::os::unix::fs::symlink("private.md", world.path().join("other/link"))?;
    fs::create_dir(world.path().join("granted/empty"))?;
    let map = world.path().join("map.toml");
    fs::write(&map, "[keys]\nk = 'granted/note.md'\n")?;
    fs::set_permissions(&map, fs::Permissions::from_mode(0o600))?;
    let ipc = reach::SystemV::make();
    let program = std::env::current_exe()?;
    let output = Command::new(program)
        .env(ATTEMPT, name)
        .env(WALL, format!("{wall:?}"))
        .env(WORLD, world.path())
        .env(IPC, ipc.to_text())
        .output();
    ipc.remove();
    let output = output?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// The targets of the attempts, and what was open before the wall.
pub(crate) struct World {
    root: PathBuf,
    map: FrozenMap,
    tickets: File,
    pub(crate) parent: rustix::process::Pid,
    socket: OwnedFd,
    pub(crate) pair: (OwnedFd, OwnedFd),
    listening: SocketAddrV4,
    _listener: TcpListener,
    pub(crate) ipc: reach::SystemV,
}

impl World {
    fn enter(root: PathBuf) -> Self {
        let location = Location::find(Some(&root.join("map.toml")), |_| None).unwrap();
        let map = FrozenMap::freeze(&LiveMap::new(location), Limits::default()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (unix, datagrams) = (AddressFamily::UNIX, SocketType::DGRAM);
        let flags = rustix::net::SocketFlags::empty();
        Self {
            map,
            tickets: File::open(root.join("tickets")).unwrap(),
            parent: rustix::process::getppid().unwrap(),
            socket: rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap(),
            pair: rustix::net::socketpair(unix, datagrams, flags, None).unwrap(),
            listening: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            _listener: listener,
            ipc: reach::SystemV::from_text(&std::env::var(IPC).unwrap()),
            root,
        }
    }

    /// Puts up the complete wall, as a server has it after it has loaded its
    /// sandbox.
    pub(crate) fn put_up(&self, wall: Wall) -> Result<(), keyhole::seal::SealError> {
        let none = None::<OwnedFd>;
        let (standing, loading) = match wall {
            Wall::Plain => Seal::new(Reach::Reading)?.apply(none)?,
            Wall::Tickets => Seal::new(Reach::Tickets)?.apply([&self.tickets])?,
            Wall::Sealed => Seal::new(Reach::Sealed)?.apply(self.map.directories())?,
            Wall::LandlockAlone => {
                without(libc::SYS_seccomp, Errno::INVAL);
                Seal::new(Reach::Reading)?.apply(none)?
            }
            Wall::FilterAlone => {
                without(libc::SYS_landlock_create_ruleset, Errno::NOSYS);
                Seal::new(Reach::Reading)?.apply(none)?
            }
        };
        assert_eq!(standing.landlock.is_some(), wall != Wall::FilterAlone);
        assert_eq!(standing.system_calls, wall != Wall::LandlockAlone);
        loading.done()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn note(&self) -> PathBuf {
        self.path("granted/note.md")
    }
}

/// Makes the kernel answer this call with `errno` from now on, as if it lacked the
/// call.
pub(crate) fn without(call: i64, errno: Errno) {
    let filter: BpfProgram = SeccompFilter::new(
        BTreeMap::from([(call, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error() as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}

/// Asserts that one part of the wall refused the call. Nothing else refuses it
/// here: the files are this user's own.
#[track_caller]
pub(crate) fn refused<T: Debug, E: Into<i32> + Debug>(what: &str, result: Result<T, E>) {
    let error = result.expect_err(what).into();
    let known = [Errno::PERM, Errno::ACCESS].map(Errno::raw_os_error);
    assert!(known.contains(&error), "{what}: errno {error}");
}

/// Asserts that Landlock refused the call.
#[track_caller]
fn denied<T: Debug>(what: &str, result: Result<T, Errno>) {
    assert_eq!(result.err(), Some(Errno::ACCESS), "{what}");
}

fn permitted<T>(result: Result<T, Errno>) -> Result<T, i32> {
    result.map_err(Errno::raw_os_error)
}

fn foreign<T>(result: nix::Result<T>) -> Result<T, i32> {
    result.map_err(|error| error as i32)
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
    let is = |what: &str, result: Result<(), Errno>| refused(what, permitted(result));
    let opens = |what: &str, path: &Path, flags| is(what, open(path, flags).map(drop));
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
        refused(name, foreign(nix::unistd::truncate(&path, 0)));
        is(name, rustix::fs::unlink(&path));
        is(name, rustix::fs::rename(&path, world.path("granted/b.md")));
    }
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
        permitted(rustix::fs::unlinkat(folder, name, AtFlags::empty()))
    };
    remove("tickets", ticket).unwrap();
    refused("a note", remove("granted", "note.md"));
    refused("a map", remove("", "map.toml"));
}

fn no_attribute_is_changed(world: &World) {
    let note = world.note();
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    let file = File::open(&note).unwrap();
    let (user, group) = (Some(Uid::ROOT), Some(Gid::ROOT));
    refused(
        "mode",
        permitted(rustix::fs::chmod(&note, Mode::from(0o666))),
    );
    refused(
        "mode of a handle",
        permitted(rustix::fs::fchmod(&file, Mode::from(0o666))),
    );
    refused("owner", permitted(rustix::fs::chown(&note, user, group)));
    refused(
        "owner of a handle",
        permitted(rustix::fs::fchown(&file, user, group)),
    );
    refused(
        "times",
        permitted(rustix::fs::utimensat(CWD, &note, &times, AtFlags::empty())),
    );
    let (name, flags) = ("user.keyhole", XattrFlags::empty());
    refused(
        "extended attribute",
        permitted(rustix::fs::setxattr(&note, name, b"x", flags)),
    );
    refused(
        "extended attribute",
        permitted(rustix::fs::removexattr(&note, name)),
    );
    refused(
        "flags",
        permitted(rustix::fs::ioctl_setflags(&file, IFlags::NODUMP)),
    );
}

fn nothing_is_executed(world: &World) {
    assert!(rustix::thread::no_new_privs().unwrap_or(true));
    for program in ["/bin/true", "/bin/su", "/proc/self/exe", "granted/note.md"] {
        let path = CString::new(world.path(program).into_os_string().into_vec()).unwrap();
        let arguments: [&CStr; 0] = [];
        refused(
            program,
            foreign(nix::unistd::execve(&path, &arguments, &arguments)),
        );
    }
}

fn no_socket_is_made(_: &World) {
    for family in [
        AddressFamily::INET,
        AddressFamily::INET6,
        AddressFamily::UNIX,
        AddressFamily::NETLINK,
        AddressFamily::PACKET,
    ] {
        for kind in [SocketType::STREAM, SocketType::DGRAM, SocketType::RAW] {
            let made = rustix::net::socket(family, kind, None);
            refused("a socket", permitted(made));
            let flags = rustix::net::SocketFlags::empty();
            let made = rustix::net::socketpair(family, kind, flags, None);
            refused("a pair of sockets", permitted(made));
        }
    }
}

fn a_socket_from_before_reaches_nobody(world: &World) {
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let connected = rustix::net::connect(&world.socket, &world.listening);
    refused("connect", permitted(connected));
    refused("bind", permitted(rustix::net::bind(&world.socket, &any)));
}

fn other_processes_are_out_of_reach(world: &World) {
    let parent = world.parent;
    let process = nix::unistd::Pid::from_raw(parent.as_raw_nonzero().get());
    refused(
        "asking after it",
        permitted(rustix::process::test_kill_process(parent)),
    );
    refused("tracing it", foreign(ptrace::attach(process)));
    let mut buffer = [0; 8];
    let there = uio::RemoteIoVec { base: 4096, len: 8 };
    refused(
        "reading its memory",
        foreign(uio::process_vm_readv(
            process,
            &mut [IoSliceMut::new(&mut buffer)],
            &[there],
        )),
    );
    let own = rustix::process::getrlimit(Resource::Cpu);
    refused(
        "its limits",
        permitted(rustix::process::prlimit(Some(parent), Resource::Cpu, own)),
    );
    let flags = rustix::process::PidfdFlags::empty();
    refused(
        "a handle to it",
        permitted(rustix::process::pidfd_open(parent, flags)),
    );
}

fn root_changes_nothing(world: &World) {
    let none: Option<&str> = None;
    refused(
        "mounting",
        foreign(mount(
            Some("none"),
            &world.path("other"),
            Some("tmpfs"),
            MsFlags::empty(),
            none,
        )),
    );
    refused(
        "another namespace",
        foreign(unshare(CloneFlags::CLONE_NEWUSER)),
    );
    refused(
        "another root",
        permitted(rustix::process::chroot(world.path("granted"))),
    );
    refused(
        "another name",
        permitted(rustix::system::sethostname(b"keyhole")),
    );
}

/// The server's own panic hook writes such a line, and so does the standard
/// library's.
fn a_panic_still_says_its_line(_: &World) {
    let panicked = std::panic::catch_unwind(|| {
        let none: Option<u8> = std::hint::black_box(None);
        none.unwrap()
    });
    assert!(panicked.is_err());
    let written = rustix::io::write(std::io::stderr(), b"a line\n");
    assert_eq!(written, Ok(7));
}
