//! A process behind a wall, in which an attempt is made.

use crate::{attempts, process, reach, walk};
use keyhole_wall::{Rights, restrict_process};
use libtest_mimic::{Failed, Trial};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::{AddressFamily, SocketType},
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::{
    collections::BTreeMap,
    env, fs, io,
    mem::ManuallyDrop,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
    thread,
};
use tempfile::TempDir;

/// The variable with the title of the attempt that this process must make, in the directory
/// that it is started in.
pub(crate) const ATTEMPT: &str = "KEYHOLE_TEST_ATTEMPT";

/// A wall behind which an attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wall {
    /// The wall of `serve` and of `inject`, if the map has roots.
    Roots,
    /// The wall of `serve --require-ticket`, if the map has roots.
    Tickets,
    /// The wall if the map has no roots.
    Plain,
    /// The wall of `serve` on a kernel without filters of system calls.
    LandlockAlone,
    /// The wall of `serve` on a kernel without Landlock.
    FilterAlone,
    /// What `serve` does on a kernel with neither.
    Neither,
}

pub(crate) const WALLS: &[Wall] = &[
    Wall::Roots,
    Wall::Tickets,
    Wall::Plain,
    Wall::LandlockAlone,
    Wall::FilterAlone,
];
pub(crate) const FILTERED: &[Wall] = &[Wall::Roots, Wall::Tickets, Wall::Plain, Wall::FilterAlone];
/// The walls that let files be read beneath the roots only.
pub(crate) const ROOTS: &[Wall] = &[Wall::Roots, Wall::Tickets, Wall::LandlockAlone];

/// A name, the attempt, and the walls that must withstand it.
pub(crate) type Attempt = (&'static str, Does, &'static [Wall]);

#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// Behind the wall: in the thread that put it up, and in a new thread, as calls run in.
    Behind(fn(&World)),
    /// It puts the wall up itself.
    Itself(fn(&World, Wall)),
}

/// Each attempt behind each of its walls, with a title.
fn all() -> impl Iterator<Item = (String, Does, Wall)> {
    let all = attempts::ATTEMPTS.into_iter().chain(reach::ATTEMPTS);
    let all = all
        .chain(process::ATTEMPTS)
        .chain(walk::ATTEMPTS.iter().copied());
    all.flat_map(|(name, does, walls)| {
        let title = move |wall: &Wall| (format!("{name} ({wall:?})"), does, *wall);
        walls.iter().map(title)
    })
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |title: String| Trial::test(title.clone(), move || in_a_process(&title));
    all().map(|(title, ..)| trial(title)).collect()
}

pub(crate) fn make(title: &str) {
    // It is not dropped: one attempt closes what it has open.
    let world = ManuallyDrop::new(World::enter());
    match all().find(|(known, ..)| known == title).unwrap() {
        (_, Does::Itself(attempt), wall) => attempt(&world, wall),
        (_, Does::Behind(attempt), wall) => {
            // A call that is let through by mistake must not reach a terminal.
            let _ = nix::unistd::setsid();
            world.restrict(wall).unwrap();
            attempt(&world);
            thread::scope(|scope| scope.spawn(|| attempt(&world)).join()).unwrap();
        }
    }
}

/// Creates a world in a directory of its own, and a process that makes the attempt
/// there.
fn in_a_process(title: &str) -> Result<(), Failed> {
    let world = TempDir::new()?;
    let files = "granted/note.md granted/beneath/deep.md granted-private/note.md other/private.md \
        data/tickets/first data/tickets/second map/map.toml";
    for file in files.split(' ') {
        let path = world.path().join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, file)?;
    }
    // Nothing but the wall keeps it from being executed.
    let note = world.path().join("granted/note.md");
    fs::set_permissions(note, fs::Permissions::from_mode(0o700))?;
    fs::create_dir(world.path().join("granted/empty"))?;
    fs::create_dir(world.path().join("granted/mount"))?;
    fs::write(world.path().join("other/hard.md"), "")?;
    fs::hard_link(
        world.path().join("other/hard.md"),
        world.path().join("granted/hard.md"),
    )?;
    for (link, to) in [
        ("granted/link.md", "../other/private.md"),
        ("granted/up", "../other"),
        ("out.md", "other/private.md"),
    ] {
        std::os::unix::fs::symlink(to, world.path().join(link))?;
    }
    let output = Command::new(env::current_exe()?)
        .env(ATTEMPT, title)
        .current_dir(world.path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.starts_with("skipped: ") {
        eprint!("{said}");
    }
    // From the thread that put up the wall, and from a new one.
    let lines = 2 * usize::from(title.starts_with("a_panic_still_says_its_line"));
    let panics = said.matches("panicked at ").count();
    let is_right = output.status.success() && panics == lines;
    is_right.then_some(()).ok_or_else(|| said.into())
}

pub(crate) struct World {
    pub(crate) root: PathBuf,
    /// Open as a server has them, which can look up a name in them and no more: the root, and
    /// the map's directory.
    roots: [OwnedFd; 2],
    data: OwnedFd,
    pub(crate) parent: rustix::process::Pid,
    pub(crate) socket: OwnedFd,
    pub(crate) listening: SocketAddrV4,
    _listener: TcpListener,
}

impl World {
    fn enter() -> Self {
        let root = env::current_dir().unwrap();
        mount_in_a_root(&root);
        let held = |name| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(root.join(name), flags, Mode::empty()).unwrap()
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self {
            roots: [held("granted"), held("map")],
            data: held("data"),
            parent: rustix::process::getppid().unwrap(),
            socket: rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap(),
            listening: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            _listener: listener,
            root,
        }
    }

    /// Restricts this process, as a server does that has such a wall.
    pub(crate) fn restrict(&self, wall: Wall) -> io::Result<()> {
        if let Wall::FilterAlone | Wall::Neither = wall {
            without(libc::SYS_landlock_create_ruleset, Errno::NOSYS);
        }
        // It comes last: without this call, no other filter can be installed.
        if let Wall::LandlockAlone | Wall::Neither = wall {
            without(libc::SYS_seccomp, Errno::INVAL);
        }
        let [note, map] = &self.roots;
        let (rights, reach) = match wall {
            Wall::Tickets => (Rights::Tickets, Some(vec![note, map, &self.data])),
            Wall::Plain => (Rights::Read, None),
            _ => (Rights::Read, Some(vec![note, map])),
        };
        let data = || self.data.try_clone().unwrap().into();
        let data = (rights == Rights::Tickets).then(data);
        let (status, ()) = restrict_process(rights, data, || (reach, ()))?;
        let lacks = |alone| [alone, Wall::Neither].contains(&wall);
        assert_eq!(status.landlock.is_none(), lacks(Wall::FilterAlone));
        assert_eq!(status.system_calls, !lacks(Wall::LandlockAlone));
        assert_eq!(status.roots, ROOTS.contains(&wall));
        Ok(())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn note(&self) -> PathBuf {
        self.path("granted/note.md")
    }
}

/// Mounts another directory in the root, for this process alone, if this user may.
fn mount_in_a_root(root: &Path) {
    use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
    // SAFETY: it gives this process its own list of mounts, and it has one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0 {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        mount_bind(root.join("other"), root.join("granted/mount")).unwrap();
    }
}

/// Makes the kernel answer this call with `errno` from now on, as if it lacked the
/// call.
pub(crate) fn without(call: i64, errno: Errno) {
    let filter: BpfProgram = SeccompFilter::new(
        BTreeMap::from([(call, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error() as u32),
        env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}
