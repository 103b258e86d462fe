//! System calls from inside a sealed process.

use keyhole::{FrozenMap, LiveMap, Location, limits::Limits, seal::Seal};
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
use std::{
    fmt::Debug,
    fs::{self, File},
    io::{IoSliceMut, Write as _},
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
};
use tempfile::TempDir;

/// Names the attempt that this process is to make.
const ATTEMPT: &str = "KEYHOLE_TEST_ATTEMPT";
/// Names the directory in which it is made.
const WORLD: &str = "KEYHOLE_TEST_WORLD";

type Attempt = fn(&World);

const ATTEMPTS: [(&str, Attempt); 10] = [
    ("the_mapped_file_is_read", the_mapped_file_is_read),
    ("no_other_file_is_read", no_other_file_is_read),
    ("no_directory_is_listed", no_directory_is_listed),
    ("nothing_is_written", nothing_is_written),
    ("no_attribute_is_changed", no_attribute_is_changed),
    ("nothing_is_executed", nothing_is_executed),
    ("no_socket_is_made", no_socket_is_made),
    (
        "a_socket_from_before_speaks_no_tcp",
        a_socket_from_before_speaks_no_tcp,
    ),
    (
        "other_processes_are_out_of_reach",
        other_processes_are_out_of_reach,
    ),
    ("root_changes_nothing", root_changes_nothing),
];

/// One test an attempt, and one that a second thread prevents.
pub(crate) fn trials() -> Vec<Trial> {
    ATTEMPTS
        .into_iter()
        .map(|(name, _)| Trial::test(name, move || in_a_process(name)))
        .chain([Trial::test(
            "a_process_with_a_second_thread_is_not_sealed",
            || in_a_process("threads"),
        )])
        .collect()
}

/// Makes the attempt that this process was started for, if it was for one.
pub(crate) fn child() -> Option<ExitCode> {
    let name = std::env::var(ATTEMPT).ok()?;
    let world = World::enter(PathBuf::from(std::env::var_os(WORLD)?));
    if name == "threads" {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = thread::spawn(move || stopped.recv());
        let refused = world.seal().unwrap_err();
        assert!(matches!(refused, keyhole::seal::SealError::NotAlone));
        drop(stop);
        let _ = other.join();
        return Some(ExitCode::SUCCESS);
    }
    let (_, attempt) = *ATTEMPTS.iter().find(|(known, _)| *known == name)?;
    world.seal().unwrap();
    // Once where the seal was applied, and once where calls run.
    attempt(&world);
    let done = thread::scope(|scope| scope.spawn(|| attempt(&world)).join());
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn in_a_process(name: &str) -> Result<(), Failed> {
    let world = TempDir::new()?;
    for file in [
        "granted/note.md",
        "granted/beneath/deep.md",
        "granted-private/note.md",
        "other/private.md",
    ] {
        let path = world.path().join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, file)?;
    }
    fs::create_dir(world.path().join("granted/empty"))?;
    let map = world.path().join("map.toml");
    fs::write(&map, "[keys]\nk = 'granted/note.md'\n")?;
    fs::set_permissions(&map, fs::Permissions::from_mode(0o600))?;
    let output = Command::new(std::env::current_exe()?)
        .env(ATTEMPT, name)
        .env(WORLD, world.path())
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// What there is to attack, and what was open before the seal.
struct World {
    root: PathBuf,
    map: FrozenMap,
    socket: OwnedFd,
    listening: SocketAddrV4,
    _listener: TcpListener,
}

impl World {
    fn enter(root: PathBuf) -> Self {
        let location = Location::find(Some(&root.join("map.toml")), |_| None).unwrap();
        let map = FrozenMap::freeze(&LiveMap::new(location), Limits::default()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self {
            root,
            map,
            socket: rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap(),
            listening: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            _listener: listener,
        }
    }

    fn seal(&self) -> Result<(), keyhole::seal::SealError> {
        Seal::new()?.apply(self.map.directories())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn note(&self) -> PathBuf {
        self.path("granted/note.md")
    }
}

/// That Landlock refused it.
fn denied<T: Debug>(what: &str, result: Result<T, Errno>) {
    assert_eq!(result.err(), Some(Errno::ACCESS), "{what}");
}

/// That the filter of system calls refused it.
fn not_permitted<T: Debug, E: Into<i32> + Debug>(what: &str, result: Result<T, E>) {
    let error = result.expect_err(what).into();
    assert_eq!(error, nix::errno::Errno::EPERM as i32, "{what}");
}

fn permitted<T>(result: Result<T, Errno>) -> Result<T, i32> {
    result.map_err(Errno::raw_os_error)
}

fn foreign<T>(result: nix::Result<T>) -> Result<T, i32> {
    result.map_err(|error| error as i32)
}

fn open(path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path.as_ref(), flags, Mode::from(0o600))
}

fn the_mapped_file_is_read(world: &World) {
    assert_eq!(fs::read_to_string(world.note()).unwrap(), "granted/note.md");
    // The seal cannot be narrower than the directory with what is beneath.
    assert!(fs::read(world.path("granted/beneath/deep.md")).is_ok());
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
    for name in ["granted/note.md", "other/private.md", "map.toml"] {
        let path = world.path(name);
        for flags in [
            OFlags::WRONLY,
            OFlags::RDWR,
            OFlags::WRONLY | OFlags::APPEND,
        ] {
            denied(name, open(&path, flags));
        }
        denied(name, open(&path, OFlags::RDONLY | OFlags::TRUNC));
        let truncated = nix::unistd::truncate(&path, 0);
        assert_eq!(truncated, Err(nix::errno::Errno::EACCES));
        denied(name, rustix::fs::unlink(&path));
        denied(name, rustix::fs::rename(&path, world.path("granted/b.md")));
    }
    for name in ["granted/x", "other/x", "/tmp/keyhole-test-x", "/dev/shm/x"] {
        let path = world.path(name);
        denied(name, open(&path, OFlags::WRONLY | OFlags::CREATE));
        denied(name, rustix::fs::mkdir(&path, Mode::from(0o700)));
        denied(name, rustix::fs::symlink("note.md", &path));
        denied(
            name,
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from(0o600), 0),
        );
    }
    denied(
        "link",
        rustix::fs::link(world.note(), world.path("granted/x")),
    );
    denied("rmdir", rustix::fs::rmdir(world.path("granted/empty")));
    let temporary = OFlags::WRONLY | OFlags::TMPFILE;
    denied("unnamed", open(world.path("granted"), temporary));
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
    not_permitted(
        "mode",
        permitted(rustix::fs::chmod(&note, Mode::from(0o666))),
    );
    not_permitted(
        "mode of a handle",
        permitted(rustix::fs::fchmod(&file, Mode::from(0o666))),
    );
    not_permitted("owner", permitted(rustix::fs::chown(&note, user, group)));
    not_permitted(
        "owner of a handle",
        permitted(rustix::fs::fchown(&file, user, group)),
    );
    not_permitted(
        "times",
        permitted(rustix::fs::utimensat(CWD, &note, &times, AtFlags::empty())),
    );
    let (name, flags) = ("user.keyhole", XattrFlags::empty());
    not_permitted(
        "extended attribute",
        permitted(rustix::fs::setxattr(&note, name, b"x", flags)),
    );
    not_permitted(
        "extended attribute",
        permitted(rustix::fs::removexattr(&note, name)),
    );
    not_permitted(
        "flags",
        permitted(rustix::fs::ioctl_setflags(&file, IFlags::NODUMP)),
    );
}

fn nothing_is_executed(world: &World) {
    assert!(rustix::thread::no_new_privs().unwrap());
    for program in [
        PathBuf::from("/bin/true"),
        PathBuf::from("/bin/su"),
        std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()),
        world.note(),
    ] {
        let error = Command::new(&program).spawn().expect_err("a program");
        assert_eq!(error.raw_os_error(), Some(1), "{program:?}");
    }
    // A program in memory, which no rule over files would stop.
    let flags = rustix::fs::MemfdFlags::empty();
    let memory = rustix::fs::memfd_create("program", flags).unwrap();
    File::from(memory.try_clone().unwrap())
        .write_all(b"#!/bin/sh\n")
        .unwrap();
    let arguments: [&std::ffi::CStr; 0] = [];
    not_permitted(
        "a program in memory",
        foreign(nix::unistd::fexecve(&memory, &arguments, &arguments)),
    );
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
            not_permitted("a socket", permitted(made));
        }
    }
}

fn a_socket_from_before_speaks_no_tcp(world: &World) {
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    denied(
        "connect",
        rustix::net::connect(&world.socket, &world.listening),
    );
    denied("bind", rustix::net::bind(&world.socket, &any));
}

fn other_processes_are_out_of_reach(_: &World) {
    let parent = rustix::process::getppid().unwrap();
    let process = nix::unistd::Pid::from_raw(parent.as_raw_nonzero().get());
    not_permitted(
        "asking after it",
        permitted(rustix::process::test_kill_process(parent)),
    );
    not_permitted("tracing it", foreign(ptrace::attach(process)));
    let mut buffer = [0; 8];
    let there = uio::RemoteIoVec { base: 4096, len: 8 };
    not_permitted(
        "reading its memory",
        foreign(uio::process_vm_readv(
            process,
            &mut [IoSliceMut::new(&mut buffer)],
            &[there],
        )),
    );
    let own = rustix::process::getrlimit(Resource::Cpu);
    not_permitted(
        "its limits",
        permitted(rustix::process::prlimit(Some(parent), Resource::Cpu, own)),
    );
    permitted(rustix::process::prlimit(None, Resource::Cpu, own)).unwrap();
    let flags = rustix::process::PidfdFlags::empty();
    not_permitted(
        "a handle to it",
        permitted(rustix::process::pidfd_open(parent, flags)),
    );
}

fn root_changes_nothing(world: &World) {
    let none: Option<&str> = None;
    not_permitted(
        "mounting",
        foreign(mount(
            Some("none"),
            &world.path("other"),
            Some("tmpfs"),
            MsFlags::empty(),
            none,
        )),
    );
    not_permitted(
        "another namespace",
        foreign(unshare(CloneFlags::CLONE_NEWUSER)),
    );
    not_permitted(
        "another root",
        permitted(rustix::process::chroot(world.path("granted"))),
    );
    not_permitted(
        "another name",
        permitted(rustix::system::sethostname(b"keyhole")),
    );
}
