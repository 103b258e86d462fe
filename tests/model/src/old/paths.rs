//! The file calls that take a path. Each is one step.

use crate::{
    disk::{Id, JANE, Node},
    files::{Files, Handle},
    lookup::Part,
};
use keyhole::walk::{Fault, FileSystem as _, Stat};
use std::ffi::OsString;

impl Files {
    /// One look-up of a whole path, which the kernel does in one step.
    fn look_up<T: crate::files::Told>(
        &self,
        what: &str,
        path: &str,
        follow: bool,
        act: impl FnOnce(&mut crate::world::World, Id) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.step(
            |disk| {
                let mut looks = vec![Part::Numbers];
                if let Ok(found) = disk.find(path, JANE, follow, &mut looks) {
                    looks.push(Part::Node(found));
                }
                looks
            },
            |world| {
                let found = world.disk.find(path, JANE, follow, &mut Vec::new())?;
                act(world, found)
            },
            |_, _| format!("{what} {path}"),
        )
    }

    pub(super) fn metadata(&self, path: &str) -> Result<(Id, Stat), Fault> {
        let stat = |world: &mut crate::world::World, id: Id| Ok((id, world.disk.nodes[id].stat()));
        self.look_up("stats", path, true, stat)
    }

    pub(super) fn symlink_metadata(&self, path: &str) -> Result<(Id, Stat), Fault> {
        let stat = |world: &mut crate::world::World, id: Id| Ok((id, world.disk.nodes[id].stat()));
        self.look_up("lstats", path, false, stat)
    }

    pub(super) fn path_of_link(&self, path: &str) -> Result<String, Fault> {
        let link = self.look_up("reads the link", path, false, |world, id| {
            match &world.disk.nodes[id].node {
                Node::Link(target) => Ok(OsString::from(&**target)),
                _ => Err(Fault::Failed(std::io::ErrorKind::InvalidInput)),
            }
        })?;
        link.into_string().map_err(|_| Fault::Missing)
    }

    /// `open(O_NONBLOCK)`, links followed or not.
    pub(super) fn open_path(&self, path: &str, follow: bool) -> Result<Handle, Fault> {
        self.look_up("opens", path, follow, |world, id| {
            Self::open_node(world, id, false)
        })
    }

    /// `openat2(RESOLVE_NO_SYMLINKS)` of a directory.
    pub(super) fn open_without_links(&self, path: &str) -> Result<Handle, Fault> {
        // A path with a link in it does not lead where its names say.
        self.look_up(
            "opens without links",
            path,
            false,
            |world, id| match world.disk.nodes[id].entries() {
                Some(_) if world.disk.is_real(path, id) => Ok(Self::handle(world, id)),
                _ => Err(Fault::IsLink),
            },
        )
    }

    /// `realpath`, as the C library does it: one name after another.
    pub(super) fn canonicalize(&self, path: &str) -> Result<String, Fault> {
        let mut names: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let (mut real, mut links) = (String::new(), 0);
        while let Some(name) = names.pop() {
            match &*name {
                "" | "." => continue,
                ".." => {
                    real.truncate(real.rfind('/').unwrap_or(0));
                    continue;
                }
                _ => {}
            }
            let next = format!("{real}/{name}");
            match self.path_of_link(&next) {
                Ok(target) => {
                    links += 1;
                    if links > 40 {
                        return Err(Fault::IsLink);
                    }
                    if target.starts_with('/') {
                        real.clear();
                    }
                    names.extend(target.rsplit('/').map(str::to_owned));
                }
                Err(Fault::Failed(_)) => real = next,
                Err(fault) => return Err(fault),
            }
        }
        Ok(real)
    }

    /// The guest's old `open` in its directory, which waited.
    pub(super) fn open_beneath(&self, directory: &Handle, name: &str) -> Result<Handle, Fault> {
        let id = directory.id;
        self.step(
            |disk| {
                let mut looks = Vec::new();
                if let Ok(found) = disk.child(id, name, JANE, &mut looks) {
                    looks.push(Part::Node(found));
                }
                looks
            },
            |world| {
                let found = world.disk.child(id, name, JANE, &mut Vec::new())?;
                Self::open_node(world, found, true)
            },
            |_, _| format!("opens {name}, and waits for it"),
        )
    }

    pub(super) fn look_beneath(&self, directory: &Handle, name: &str) -> Result<Stat, Fault> {
        let held = self.hold(directory, name.as_ref())?;
        // One system call, so nobody makes a move in between.
        Ok(self.0.borrow().disk.nodes[held.id].stat())
    }
}

impl crate::disk::Disk {
    /// Whether this path has no link in it.
    fn is_real(&self, path: &str, id: Id) -> bool {
        let mut at = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match self.nodes[at]
                .entries()
                .and_then(|entries| entries.get(name))
            {
                Some(next) => at = *next,
                None => return false,
            }
        }
        at == id
    }
}
