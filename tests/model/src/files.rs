//! The host's view of the disk: the walk's interface. Each call of it is one step, or two:
//! what is opened is looked at in a step of its own.

use crate::{
    disk::{Disk, Id, JANE, Mounted, Node, R, STICKY},
    lookup::Part,
    play::Program,
    world::World,
};
use keyhole_walk::{DistrustReason, FileSystem, GroupFiles, Kind, Stat, SystemError, Writers};
use std::{
    ffi::{OsStr, OsString},
    hash::{Hash, Hasher},
    io,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[derive(Clone)]
pub(crate) struct Files(Arc<Mutex<World>>, Arc<OnceLock<GroupFiles>>);

/// A descriptor. It always stands for the same node.
#[derive(Clone, Hash)]
pub(crate) struct Handle {
    pub(crate) id: Id,
    _held: Arc<()>,
}

/// A `stat`, in a form that the run's observer can note.
struct Report(Stat);

impl Hash for Report {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let stat = &self.0;
        (stat.mode, stat.owner, stat.group, stat.names).hash(state);
        (stat.device, stat.inode, stat.size).hash(state);
        (stat.modified, stat.changed).hash(state);
    }
}

/// The answer once the run is over.
const OVER: SystemError = SystemError::Failed(io::ErrorKind::Other);

impl Files {
    pub(crate) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)), Arc::default())
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    pub(crate) fn step<T: Hash>(
        &self,
        looks: impl Fn(&Disk) -> Vec<Part>,
        act: impl FnOnce(&mut World) -> Result<T, SystemError>,
        say: impl FnOnce(&World, Option<&T>) -> String,
    ) -> Result<T, SystemError> {
        let mut world = self.world();
        let answer = world.step(looks, act).ok_or(OVER)?;
        world.tell(|world| {
            let said = say(world, answer.as_ref().ok());
            match &answer {
                Ok(_) => format!("    host {said}"),
                Err(error) => format!("    host {said}: {error}"),
            }
        });
        answer
    }

    pub(crate) fn handle(world: &World, id: Id) -> Handle {
        Handle {
            id,
            _held: world.disk.nodes[id].held.clone(),
        }
    }

    /// What `act` makes of the node at `name`. It also `sees` the node itself.
    pub(crate) fn child<T: Hash>(
        &self,
        directory: &Handle,
        name: &OsStr,
        (what, sees): (&str, bool),
        act: impl FnOnce(&mut World, Id) -> Result<T, SystemError>,
    ) -> Result<T, SystemError> {
        let (directory, name) = (directory.id, name.to_str().ok_or(SystemError::Missing)?);
        self.step(
            |disk| {
                let mut looks = vec![Part::Numbers];
                let found = disk.child(directory, name, JANE, &mut looks);
                looks.extend(found.ok().filter(|_| sees).map(Part::Node));
                looks
            },
            |world| {
                let found = world.disk.child(directory, name, JANE, &mut Vec::new())?;
                act(world, found)
            },
            |world, _| format!("{what} {name} in {}", world.disk.name_of(directory)),
        )
    }
}

impl FileSystem for Files {
    type Handle = Handle;

    fn root(&self) -> Result<(Handle, Stat), SystemError> {
        // Nobody can change it, so nobody need make a move before.
        let world = self.world();
        Ok((Self::handle(&world, 0), world.disk.nodes[0].stat()))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        let held = self.child(directory, name, ("holds", false), |world, id| {
            Ok(Self::handle(world, id))
        })?;
        let stat = self.stat(&held)?;
        Ok((held, stat))
    }

    fn kind(&self, directory: &Handle, name: &OsStr) -> Result<Kind, SystemError> {
        let found = self.child(directory, name, ("looks at", false), |_, id| Ok(id))?;
        // What a node is never changes.
        Ok(self.world().disk.nodes[found].stat().kind)
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        let opened = self.child(directory, name, ("opens", true), |world, id| {
            match &world.disk.nodes[id] {
                inode if matches!(inode.node, Node::Link(_)) => Err(SystemError::IsLink),
                inode if inode.lets(JANE, R) => Ok(Self::handle(world, id)),
                _ => Err(SystemError::Denied),
            }
        })?;
        self.world().opened.push(opened.id);
        let stat = self.stat(&opened)?;
        Ok((opened, stat))
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, SystemError> {
        let id = handle.id;
        let report = self.step(
            |_| vec![Part::Node(id)],
            |world| {
                let mut stat = world.disk.nodes[id].stat();
                if world.program == Program::Trusting {
                    (stat.owner, stat.mode) = (JANE.uid, 0o700);
                }
                Ok(Report(stat))
            },
            |world, _| format!("looks at {}", world.disk.name_of(id)),
        )?;
        Ok(report.0)
    }

    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString, SystemError> {
        // A link's target never changes, so nobody need make a move before.
        match &self.world().disk.nodes[link.id].node {
            Node::Link(target) => Ok(OsString::from(&**target)),
            _ => Err(SystemError::Missing),
        }
    }

    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Option<DistrustReason>, SystemError> {
        let world = self.world();
        let disk = &world.disk;
        Ok(match disk.mounts[disk.nodes[handle.id].device] {
            _ if world.program == Program::Trusting => None,
            Mounted::By(uid) if uid != JANE.uid => Some(DistrustReason::ForeignMount),
            Mounted::Ordinary | Mounted::By(_) => None,
            Mounted::WithoutOwners => Some(DistrustReason::NoOwners),
            Mounted::Kernel => Some(DistrustReason::KernelFileSystem),
        })
    }

    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers, SystemError> {
        let has_list = self.world().disk.nodes[handle.id].acl.is_some();
        let is_sticky = stat.kind == Kind::Directory && stat.mode & STICKY != 0;
        let is_open = has_list && stat.mode & 0o020 != 0 && !is_sticky;
        let closed = (!is_open).then(|| stat.writing_group());
        Ok(closed.ok_or(DistrustReason::WritableByOthers))
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, SystemError> {
        let (id, room) = (file.id, bytes.len());
        let got = self.step(
            |_| vec![Part::Node(id)],
            |world| {
                let file = world.disk.nodes[id].file().ok_or(SystemError::NotAFile)?;
                let from = (offset as usize).min(file.bytes.len());
                let rest = &file.bytes[from..];
                Ok(rest[..rest.len().min(room).min(file.piece)].to_vec())
            },
            |world, got| {
                let got = got.map(|got| String::from_utf8_lossy(got));
                format!("reads {} from {offset}: {got:?}", world.disk.name_of(id))
            },
        )?;
        bytes[..got.len()].copy_from_slice(&got);
        Ok(got.len())
    }

    fn user(&self) -> Option<u32> {
        Some(JANE.uid)
    }

    fn groups(&self) -> &OnceLock<GroupFiles> {
        &self.1
    }

    fn now(&self) -> SystemTime {
        let now = self.step(
            |_| vec![Part::Clock],
            |world| Ok(world.disk.now()),
            |_, _| "looks at the clock".into(),
        );
        let world = self.world();
        let is_again = match &world.opened[..] {
            [before @ .., last] => before.contains(last),
            [] => false,
        };
        let later = match world.program {
            Program::Hasty => Duration::from_secs(1 << 30),
            Program::SettlingOnce if is_again => Duration::from_secs(1 << 30),
            _ => Duration::ZERO,
        };
        UNIX_EPOCH + Duration::from_nanos(now.unwrap_or(0)) + later
    }

    fn pause(&self, time: Duration) {
        let _ = self.step(
            |_| vec![Part::All],
            |world| {
                world.wait(time.as_nanos() as u64);
                Ok(())
            },
            |_, _| format!("has paused for {} ms", time.as_millis()),
        );
    }
}
