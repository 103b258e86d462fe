//! The host's view of the disk: the walker's interface. Each call of it is one step.

use crate::{
    disk::{Disk, Id, Inode, JANE, MS, Mounted, Node, R, STICKY},
    lookup::Part,
    world::World,
};
use keyhole::walk::{Fault, FileSystem, Kind, Mount, Stat};
use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    hash::{Hash, Hasher},
    io,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The file system of one world.
#[derive(Clone)]
pub struct Files(pub Rc<RefCell<World>>);

/// A descriptor. It always stands for the same node.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The node.
    pub id: Id,
    _held: Rc<()>,
}

/// What the run's observer notes about an answer.
#[derive(Debug)]
pub struct Seen<T>(pub Result<T, Fault>);

impl<T: Told> Hash for Seen<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Ok(told) => told.tell(state),
            Err(fault) => std::mem::discriminant(fault).hash(state),
        }
    }
}

/// Something that a step can return.
pub trait Told {
    /// Adds what the host learns from it.
    fn tell<H: Hasher>(&self, state: &mut H);
}

impl Told for Handle {
    fn tell<H: Hasher>(&self, state: &mut H) {
        (1, self.id).hash(state);
    }
}
impl Told for Stat {
    fn tell<H: Hasher>(&self, state: &mut H) {
        (self.mode, self.owner, self.group, self.names).hash(state);
        (
            self.device,
            self.inode,
            self.size,
            self.modified,
            self.changed,
        )
            .hash(state);
    }
}
impl Told for (Id, Stat) {
    fn tell<H: Hasher>(&self, state: &mut H) {
        self.1.tell(state);
    }
}
impl Told for Vec<u8> {
    fn tell<H: Hasher>(&self, state: &mut H) {
        self.hash(state);
    }
}
impl Told for OsString {
    fn tell<H: Hasher>(&self, state: &mut H) {
        self.hash(state);
    }
}
impl Told for u64 {
    fn tell<H: Hasher>(&self, state: &mut H) {
        self.hash(state);
    }
}
impl Told for () {
    fn tell<H: Hasher>(&self, _: &mut H) {}
}

impl Files {
    /// One step.
    ///
    /// # Errors
    /// The step's own error; any error once the run is over.
    pub fn step<T: Told>(
        &self,
        looks: impl Fn(&Disk) -> Vec<Part>,
        act: impl FnOnce(&mut World) -> Result<T, Fault>,
        say: impl FnOnce(&World, Option<&T>) -> String,
    ) -> Result<T, Fault> {
        let mut world = self.0.borrow_mut();
        let Some(Seen(answer)) = world.step(looks, |world| Seen(act(world))) else {
            return Err(OVER);
        };
        world.tell(|world| {
            let said = say(world, answer.as_ref().ok());
            match &answer {
                Ok(_) => format!("    host {said}"),
                Err(fault) => format!("    host {said}: {fault:?}"),
            }
        });
        answer
    }

    /// A descriptor for a node.
    #[must_use]
    pub fn handle(world: &World, id: Id) -> Handle {
        Handle {
            id,
            _held: world.disk.nodes[id].held.clone(),
        }
    }

    /// The node at `name`. Notes what the step will look at.
    fn child(
        &self,
        directory: &Handle,
        name: &OsStr,
        what: &str,
        act: impl FnOnce(&mut World, Id) -> Result<Handle, Fault>,
    ) -> Result<Handle, Fault> {
        let (directory, name) = (directory.id, name.to_str().ok_or(Fault::Missing)?);
        self.step(
            |disk| {
                let mut looks = vec![Part::Numbers];
                if let Ok(found) = disk.child(directory, name, JANE, &mut looks) {
                    looks.push(Part::Node(found));
                }
                looks
            },
            |world| {
                let found = world.disk.child(directory, name, JANE, &mut Vec::new())?;
                act(world, found)
            },
            |world, _: Option<&Handle>| {
                format!("{what} {name} in {}", world.disk.name_of(directory))
            },
        )
    }

    /// Opens a node for reading. If it `waits`, it waits for what an ordinary `open`
    /// waits for, which never comes.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn open_node(world: &mut World, id: Id, waits: bool) -> Result<Handle, Fault> {
        let inode = &world.disk.nodes[id];
        if let Node::Link(_) = inode.node {
            return Err(Fault::IsLink);
        }
        if !inode.lets(JANE, R) {
            return Err(Fault::Denied);
        }
        let leased = inode
            .file()
            .and_then(|file| file.lease)
            .is_some_and(|by| by != JANE.uid);
        let fifo = matches!(inode.node, Node::Fifo);
        if waits && (leased || fifo) {
            let what = if fifo {
                "a FIFO"
            } else {
                "a file under a lease"
            };
            world.trouble = Some(format!("the call hangs in the open of {what}"));
            return Err(OVER);
        }
        match leased {
            true => Err(Fault::Busy),
            false => Ok(Self::handle(world, id)),
        }
    }
}

/// The answer once the run is over.
const OVER: Fault = Fault::Failed(io::ErrorKind::Other);

impl Disk {
    /// A node's path, for a story.
    #[must_use]
    pub fn name_of(&self, id: Id) -> String {
        fn below(disk: &Disk, at: Id, id: Id) -> Option<String> {
            disk.nodes[at].entries()?.iter().find_map(|(name, child)| {
                if *child == id {
                    return Some(format!("/{name}"));
                }
                Some(format!("/{name}{}", below(disk, *child, id)?))
            })
        }
        match id {
            0 => "/".into(),
            id => below(self, 0, id).unwrap_or_else(|| "(no name any more)".into()),
        }
    }
}

impl Inode {
    /// The `stat` of a descriptor for it.
    #[must_use]
    pub fn stat(&self) -> Stat {
        let time = |ns: u64| ((ns / (1000 * MS)) as i64, (ns % (1000 * MS)) as i64);
        let is_directory = self.entries().is_some();
        Stat {
            kind: match &self.node {
                Node::File(_) => Kind::File,
                Node::Directory(_) => Kind::Directory,
                Node::Link(_) => Kind::Link,
                Node::Fifo => Kind::Other,
            },
            mode: self.mode,
            owner: self.uid,
            group: self.gid,
            names: if is_directory { 2 } else { self.names },
            device: self.device as u64,
            inode: self.number,
            size: self.file().map_or(0, |file| file.bytes.len() as u64),
            modified: time(if is_directory { 0 } else { self.modified }),
            changed: time(if is_directory { 0 } else { self.changed }),
        }
    }
}

impl FileSystem for Files {
    type Handle = Handle;

    fn root(&self) -> Result<Handle, Fault> {
        Ok(Self::handle(&self.0.borrow(), 0))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        self.child(directory, name, "holds", |world, id| {
            Ok(Self::handle(world, id))
        })
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        self.child(directory, name, "opens", |world, id| {
            Self::open_node(world, id, false)
        })
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, Fault> {
        let id = handle.id;
        self.step(
            |_| vec![Part::Node(id)],
            |world| Ok(world.disk.nodes[id].stat()),
            |world, _| format!("looks at {}", world.disk.name_of(id)),
        )
    }

    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString, Fault> {
        // A link's target never changes, so nobody can make a move in between.
        match &self.0.borrow().disk.nodes[link.id].node {
            Node::Link(target) => Ok(OsString::from(&**target)),
            _ => Err(Fault::Missing),
        }
    }

    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Mount, Fault> {
        let world = self.0.borrow();
        Ok(
            match world.disk.mounts[world.disk.nodes[handle.id].device] {
                Mounted::Ordinary => Mount::Ordinary,
                Mounted::By(uid) if uid == JANE.uid => Mount::Ordinary,
                Mounted::By(_) => Mount::AnothersOwn,
                Mounted::WithoutOwners => Mount::WithoutOwners,
                Mounted::Kernel => Mount::Kernel,
            },
        )
    }

    fn has_hidden_writers(&self, handle: &Handle, _: &Stat) -> Result<bool, Fault> {
        let inode = &self.0.borrow().disk.nodes[handle.id];
        Ok(inode.acl.is_some() && inode.mode & 0o020 != 0 && inode.mode & STICKY == 0)
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        let (id, room) = (file.id, bytes.len());
        let got = self.step(
            |_| vec![Part::Node(id)],
            |world| {
                let file = world.disk.nodes[id].file().ok_or(Fault::NotAFile)?;
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

    fn settle(&self, file: &Handle) {
        let id = file.id;
        let _ = self.step(
            |disk| match disk.nodes[id].file() {
                Some(file) if file.writing.is_some() => vec![Part::All],
                _ => vec![Part::Node(id)],
            },
            |world| {
                world.finish_write(id);
                Ok(())
            },
            |world, _| format!("waits for writers of {}", world.disk.name_of(id)),
        );
    }

    fn user(&self) -> u32 {
        JANE.uid
    }

    fn now(&self) -> SystemTime {
        let now = self.step(
            |_| vec![Part::Clock],
            |world| Ok(world.disk.clock),
            |_, _| "looks at the clock".into(),
        );
        UNIX_EPOCH + Duration::from_nanos(now.unwrap_or(0))
    }

    fn pause(&self, time: Duration) {
        let _ = self.step(
            |_| vec![Part::All],
            |world| {
                world.wait(time.as_nanos() as u64);
                Ok(())
            },
            |_, _| format!("pauses for {} ms", time.as_millis()),
        );
    }
}
