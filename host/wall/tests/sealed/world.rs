//! A process behind a wall, in which an attempt is made.

use crate::{attempts, process, reach, walk};
use keyhole_wall::{Rights, Standing, WallError, put_up};
use libtest_mimic::{Failed, Trial};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::{AddressFamily, SocketType},
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    mem::ManuallyDrop,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::OwnedFd,
    path::PathBuf,
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
    /// What `serve` does on a kernel with neither.
    Neither,
}

pub(crate) const WALLS: &[Wall] = &[
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
pub(crate) type Attempt = (&'static str, Does, &'static [Wall]);

/// How an attempt is made.
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

/// Makes the attempt for which this process was started.
pub(crate) fn make(title: &str) {
    // It is not dropped: one attempt closes what it has open.
    let world = ManuallyDrop::new(World::enter());
    match all().find(|(known, ..)| known == title).unwrap() {
        (_, Does::Itself(attempt), wall) => attempt(&world, wall),
        (_, Does::Behind(attempt), wall) => {
            // A call that is let through by mistake must not reach a terminal.
            let _ = nix::unistd::setsid();
            world.put_up(wall).unwrap();
            attempt(&world);
            thread::scope(|scope| scope.spawn(|| attempt(&world)).join()).unwrap();
        }
    }
}

/// Creates a world in a directory of its own, and a process that makes the attempt
/// there.
fn in_a_process(title: &str) -> Result<(), Failed> {
    let world = TempDir::new()?;
    for file in [
        "granted/note.md",
        "granted/beneath/deep.md",
        "granted-private/note.md",
        "other/private.md",
        "tickets/first",
        "tickets/second",
        "map.toml",
    ] {
        let path = world.path().join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, file)?;
    }
    fs::create_dir(world.path().join("granted/empty"))?;
    let output = Command::new(env::current_exe()?)
        .env(ATTEMPT, title)
        .current_dir(world.path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.starts_with("skipped: ") {
        eprint!("{said}");
    }
    // From the thread that put up the wall, and from a new one.
    let lines = match title.starts_with("a_panic_still_says_its_line") {
        true => 2,
        false => 0,
    };
    let panics = said.matches("panicked at ").count();
    match output.status.success() && panics == lines {
        true => Ok(()),
        false => Err(said.into()),
    }
}

/// The targets of the attempts, and what was open before the wall.
pub(crate) struct World {
    pub(crate) root: PathBuf,
    /// Open as a server has them, which can look up a name in them and no more.
    granted: OwnedFd,
    tickets: File,
    pub(crate) parent: rustix::process::Pid,
    pub(crate) socket: OwnedFd,
    pub(crate) listening: SocketAddrV4,
    _listener: TcpListener,
}

impl World {
    fn enter() -> Self {
        let root = env::current_dir().unwrap();
        let held = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self {
            granted: rustix::fs::open(root.join("granted"), held, Mode::empty()).unwrap(),
            tickets: File::open(root.join("tickets")).unwrap(),
            parent: rustix::process::getppid().unwrap(),
            socket: rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap(),
            listening: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            _listener: listener,
            root,
        }
    }

    pub(crate) fn put_up(&self, wall: Wall) -> Result<(), WallError> {
        if let Wall::FilterAlone | Wall::Neither = wall {
            without(libc::SYS_landlock_create_ruleset, Errno::NOSYS);
        }
        // It comes last: without this call, no other filter can be installed.
        if let Wall::LandlockAlone | Wall::Neither = wall {
            without(libc::SYS_seccomp, Errno::INVAL);
        }
        let standing: Standing = match wall {
            Wall::Tickets => put_up(Rights::Tickets, [&self.tickets])?,
            Wall::Sealed => put_up(Rights::Sealed, [&self.granted])?,
            _ => put_up(Rights::Read, None::<OwnedFd>)?,
        };
        let lacks = |alone| [alone, Wall::Neither].contains(&wall);
        assert_eq!(standing.landlock.is_none(), lacks(Wall::FilterAlone));
        assert_eq!(standing.system_calls, !lacks(Wall::LandlockAlone));
        Ok(())
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
        env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}
