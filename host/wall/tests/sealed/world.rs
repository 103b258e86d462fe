//! A process behind a wall, in which an attempt is made.

use crate::{
    attempts::{ATTEMPTS, Attempt},
    process, reach, walk,
};
use keyhole_wall::{Rights, Standing, WallError, put_up};
use libtest_mimic::{Failed, Trial};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::{AddressFamily, SocketType},
    process::geteuid,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Command, ExitCode},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The variable with the name of the attempt that this process must make.
const ATTEMPT: &str = "KEYHOLE_TEST_ATTEMPT";
/// The variable with the name of the wall behind which it makes the attempt.
const WALL: &str = "KEYHOLE_TEST_WALL";
/// The variable with the directory in which it makes the attempt.
const WORLD: &str = "KEYHOLE_TEST_WORLD";

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

pub(crate) const WALLS: [Wall; 5] = [
    Wall::Plain,
    Wall::Tickets,
    Wall::Sealed,
    Wall::LandlockAlone,
    Wall::FilterAlone,
];
/// The walls with a filter.
pub(crate) const FILTERED: &[Wall] = &[Wall::Plain, Wall::Tickets, Wall::Sealed, Wall::FilterAlone];
pub(crate) const SEALED: &[Wall] = &[Wall::Sealed];

fn all() -> impl Iterator<Item = Attempt> {
    ATTEMPTS.into_iter().chain(reach::ATTEMPTS)
}

/// One test for each attempt and wall, and one in which a second thread prevents
/// the wall.
pub(crate) fn trials() -> Vec<Trial> {
    all()
        .flat_map(|(name, _, walls)| walls.iter().map(move |wall| (name, *wall)))
        .map(|(name, wall)| {
            let title = format!("{name} ({wall:?})");
            Trial::test(title, move || in_a_process(name, wall))
        })
        .chain([
            Trial::test("a_process_with_a_second_thread_gets_no_wall", || {
                in_a_process("threads", Wall::Plain)?;
                in_a_process("threads", Wall::Sealed)
            }),
            Trial::test(
                "without_proc_there_is_a_wall_but_none_that_is_sealed",
                || {
                    in_a_process("no proc", Wall::Plain)?;
                    in_a_process("no proc", Wall::Sealed)
                },
            )
            .with_ignored_flag(!geteuid().is_root()),
            Trial::test("a_thread_that_is_ending_is_waited_for", || {
                in_a_process("ending thread", Wall::Sealed)
            }),
            Trial::test("without_any_wall_a_second_thread_is_allowed", || {
                in_a_process("threads", Wall::Neither)
            }),
            Trial::test("what_would_stand_here_is_known", || {
                assert!(Standing::here().is_whole());
                Ok(())
            }),
        ])
        .collect()
}

/// Makes the attempt for which this process was started, if there is one.
pub(crate) fn child() -> Option<ExitCode> {
    let name = std::env::var(ATTEMPT).ok()?;
    if let Some(attempt) = process::attempt(&name) {
        attempt();
        return Some(ExitCode::SUCCESS);
    }
    let wall = std::env::var(WALL).ok()?;
    let wall = WALLS
        .into_iter()
        .chain([Wall::Neither])
        .find(|known| format!("{known:?}") == wall)?;
    let world = World::enter(PathBuf::from(std::env::var_os(WORLD)?));
    match &*name {
        "threads" => {
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            let other = thread::spawn(move || stopped.recv());
            match (wall, world.put_up(wall)) {
                (Wall::Neither, Ok(()))
                | (Wall::Plain | Wall::Sealed, Err(WallError::NotAlone)) => {}
                (_, other) => panic!("{other:?}"),
            }
            drop(stop);
            let _ = other.join();
            return Some(ExitCode::SUCCESS);
        }
        "ending thread" => {
            thread::spawn(|| thread::sleep(Duration::from_millis(50)));
            world.put_up(wall).unwrap();
            return Some(ExitCode::SUCCESS);
        }
        // Only root can leave `/proc` behind.
        "no proc" => {
            rustix::process::chroot(&world.root).unwrap();
            match (wall, world.put_up(wall)) {
                (Wall::Plain, Ok(())) | (Wall::Sealed, Err(WallError::NotAlone)) => {}
                (_, other) => panic!("{other:?}"),
            }
            return Some(ExitCode::SUCCESS);
        }
        "walk" => return Some(walk::child(&world, wall)),
        _ => {}
    }
    // A call that is let through by mistake must not reach a terminal.
    let _ = nix::unistd::setsid();
    let (_, attempt, _) = all().find(|(known, ..)| *known == name)?;
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
        "map.toml",
    ] {
        let path = world.path().join(file);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, file)?;
    }
    fs::create_dir(world.path().join("granted/empty"))?;
    let program = std::env::current_exe()?;
    let output = Command::new(program)
        .env(ATTEMPT, name)
        .env(WALL, format!("{wall:?}"))
        .env(WORLD, world.path())
        .output()?;
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
    /// Open as a server has them, which can look up a name in them and no more.
    granted: OwnedFd,
    tickets: File,
    pub(crate) parent: rustix::process::Pid,
    pub(crate) socket: OwnedFd,
    pub(crate) listening: SocketAddrV4,
    _listener: TcpListener,
}

impl World {
    fn enter(root: PathBuf) -> Self {
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
        let none = None::<OwnedFd>;
        let standing: Standing = match wall {
            Wall::Plain => put_up(Rights::Read, none)?,
            Wall::Tickets => put_up(Rights::Tickets, [&self.tickets])?,
            Wall::Sealed => put_up(Rights::Sealed, [&self.granted])?,
            Wall::LandlockAlone => {
                without(libc::SYS_seccomp, Errno::INVAL);
                put_up(Rights::Read, none)?
            }
            Wall::FilterAlone => {
                without(libc::SYS_landlock_create_ruleset, Errno::NOSYS);
                put_up(Rights::Read, none)?
            }
            Wall::Neither => {
                without(libc::SYS_landlock_create_ruleset, Errno::NOSYS);
                without(libc::SYS_seccomp, Errno::INVAL);
                put_up(Rights::Read, none)?
            }
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
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}
