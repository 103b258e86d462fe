//! The host's view of the disk. Before each step, whoever is next may act; and the
//! system may fail, return less than was asked for, or take a long time.

use crate::sim::{self, Give, Sim};
use keyhole::walk::{Fault, FileSystem, Mount, Stat};
use keyhole_model::{
    disk::{Disk, Id, JANE, MS, Mounted, Node, R, STICKY},
    lookup::Part,
};
use std::{
    ffi::{OsStr, OsString},
    io,
    rc::Rc,
    sync::{Mutex, MutexGuard, TryLockError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The file system of this thread's run.
#[derive(Clone, Copy, Debug)]
pub struct Files;

/// A descriptor. It always stands for the same node.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The node.
    pub id: Id,
    _held: Rc<()>,
}

impl Handle {
    /// Holds a node.
    #[must_use]
    pub fn new(disk: &Disk, id: Id) -> Self {
        Self {
            id,
            _held: disk.nodes[id].held.clone(),
        }
    }
}

/// One step of the host.
fn step<T>(
    act: impl FnOnce(&mut Sim) -> Result<T, Fault>,
    say: impl FnOnce(&Sim) -> String,
) -> Result<T, Fault> {
    sim::give(Give::Way);
    // The system call is interrupted, and made again.
    while sim::with(|sim| sim.rng.once_in(sim.faults.interrupted)) {
        sim::give(Give::Way);
    }
    let hangs = sim::with(|sim| {
        let hangs = sim.rng.once_in(sim.faults.hangs);
        hangs.then(|| {
            let ms = sim.rng.of(&[30, 150, 900, 2500, 6000, 15_000]);
            sim.note(("hangs", ms), |sim| {
                format!("[{}] the system takes {ms} ms", sim.thread)
            });
            sim.world.disk.clock + ms * MS
        })
    });
    if let Some(until) = hangs {
        sim::give(Give::Until(until));
    }
    sim::with(|sim| {
        sim.world.sync();
        let fault = if sim.rng.once_in(sim.faults.fails) {
            Some(Fault::Failed(io::ErrorKind::Other))
        } else if sim.rng.once_in(sim.faults.exhausted) {
            Some(Fault::OutOfResources)
        } else {
            None
        };
        let answer = fault.map_or_else(|| act(sim), Err);
        let number = sim.thread;
        let fault = answer.as_ref().err().copied();
        sim.note((number, fault.map(|fault| format!("{fault:?}"))), |sim| {
            let said = fault.map_or(String::new(), |fault| format!(": {fault:?}"));
            format!("[{number}] {}{said}", say(sim))
        });
        answer
    })
}

fn child(
    directory: &Handle,
    name: &OsStr,
    what: &'static str,
    act: impl FnOnce(&Disk, Id) -> Result<Handle, Fault>,
) -> Result<Handle, Fault> {
    let (directory, name) = (directory.id, name.to_str().ok_or(Fault::Missing)?);
    step(
        |sim| {
            let mut looked: Vec<Part> = Vec::new();
            let disk = &sim.world.disk;
            let found = disk.child(directory, name, JANE, &mut looked)?;
            act(disk, found)
        },
        |sim| format!("{what} {name} in {}", sim.world.disk.name_of(directory)),
    )
}

impl FileSystem for Files {
    type Handle = Handle;

    fn root(&self) -> Result<Handle, Fault> {
        Ok(sim::with(|sim| Handle::new(&sim.world.disk, 0)))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        child(directory, name, "holds", |disk, id| {
            Ok(Handle::new(disk, id))
        })
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        child(directory, name, "opens", |disk, id| {
            let inode = &disk.nodes[id];
            let lease = inode.file().and_then(|file| file.lease);
            if let Node::Link(_) = inode.node {
                Err(Fault::IsLink)
            } else if !inode.lets(JANE, R) {
                Err(Fault::Denied)
            } else if lease.is_some_and(|by| by != JANE.uid) {
                Err(Fault::Busy)
            } else {
                Ok(Handle::new(disk, id))
            }
        })
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, Fault> {
        let id = handle.id;
        step(
            |sim| Ok(sim.world.disk.nodes[id].stat()),
            |sim| format!("looks at {}", sim.world.disk.name_of(id)),
        )
    }

    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString, Fault> {
        // A link's target never changes.
        sim::with(|sim| match &sim.world.disk.nodes[link.id].node {
            Node::Link(target) => Ok(OsString::from(&**target)),
            _ => Err(Fault::Missing),
        })
    }

    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Mount, Fault> {
        sim::with(|sim| {
            let disk = &sim.world.disk;
            Ok(match disk.mounts[disk.nodes[handle.id].device] {
                Mounted::By(uid) if uid != JANE.uid => Mount::AnothersOwn,
                Mounted::Ordinary | Mounted::By(_) => Mount::Ordinary,
                Mounted::WithoutOwners => Mount::WithoutOwners,
                Mounted::Kernel => Mount::Kernel,
            })
        })
    }

    fn has_hidden_writers(&self, handle: &Handle, _: &Stat) -> Result<bool, Fault> {
        sim::with(|sim| {
            let inode = &sim.world.disk.nodes[handle.id];
            Ok(inode.acl.is_some() && inode.mode & 0o020 != 0 && inode.mode & STICKY == 0)
        })
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        let (id, room) = (file.id, bytes.len());
        let got = step(
            |sim| {
                let file = sim.world.disk.nodes[id].file().ok_or(Fault::NotAFile)?;
                let from = (offset as usize).min(file.bytes.len());
                let rest = &file.bytes[from..];
                let most = rest.len().min(room);
                let most = match most > 1 && sim.rng.once_in(sim.faults.short) {
                    true => 1 + sim.rng.below(most - 1),
                    false => most,
                };
                Ok(rest[..most].to_vec())
            },
            |sim| format!("reads {} from {offset}", sim.world.disk.name_of(id)),
        )?;
        bytes[..got.len()].copy_from_slice(&got);
        Ok(got.len())
    }

    fn settle(&self, file: &Handle) {
        let id = file.id;
        let _ = step(
            |_| Ok(()),
            |sim| format!("waits for writers of {}", sim.world.disk.name_of(id)),
        );
        let writes = |sim: &mut Sim| {
            let file = sim.world.disk.nodes[id].file();
            file.is_some_and(|file| file.writing.is_some())
        };
        while sim::with(writes) {
            sim::give(Give::Way);
        }
    }

    fn user(&self) -> u32 {
        JANE.uid
    }

    fn now(&self) -> SystemTime {
        let now = sim::with(|sim| sim.world.disk.clock);
        UNIX_EPOCH + Duration::from_nanos(now)
    }

    fn pause(&self, time: Duration) {
        let until = sim::with(|sim| {
            let number = sim.thread;
            sim.note((number, "pauses"), |_| {
                format!("[{number}] pauses for {} ms", time.as_millis())
            });
            sim.world.disk.clock + time.as_nanos() as u64
        });
        sim::give(Give::Until(until));
    }

    /// Calls are not threads here: a call that waits for a lock yields.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => sim::give(Give::Way),
            }
        }
    }
}
