//! The bad example: three ways to look a file up that version 0.1.0 had, over the same disk.
//! They are kept to prove that the explorer finds what it looks for.
//!
//! | what it did | scene |
//! |---|---|
//! | looked the file and each root up by path, one after the other | `root-name` |
//! | judged only the last directory of the map's path, and looked the path up again | `map-directory` |
//! | opened the file without `O_NONBLOCK`, and compared only size and modification time | `fifo` |

use crate::{
    disk::{Id, JANE, Node, STICKY},
    files::{Files, Handle},
    guest::ask,
    lookup::Part,
    scenes::KEY_FILE,
    world::World,
};
use keyhole_core::{Code, Entry, Executor, Grant, Key, Location, Map, MapError};
use keyhole_guest::{Directory, File, LoadError};
use keyhole_walk::{FileSystem as _, Kind, Stat, SystemError};
use std::{ffi::OsStr, hash::Hash, path::Path, sync::Arc, time::Instant};

type Found<T> = Result<T, SystemError>;

/// Map, key file and mapped file by path, as in 0.1.0.
pub(crate) struct ByPath<'a>(pub(crate) &'a Files);

impl ByPath<'_> {
    pub(crate) fn map(&self, location: &Location) -> Result<Arc<Map>, MapError> {
        let path = location.file().to_owned();
        let bytes = match self.read(path.to_str().unwrap()) {
            Ok(bytes) => bytes,
            Err(source) => return Err(MapError::Unreadable { path, source }),
        };
        let map = Map::parse(&bytes, location);
        map.map(Arc::new)
            .map_err(|source| MapError::Parse { path, source })
    }

    /// The key of the only binding.
    pub(crate) fn key(&self) -> Result<Key, Code> {
        let bytes = self.read(KEY_FILE).map_err(|_| Code::UnknownKey)?;
        let text = String::from_utf8(bytes).unwrap();
        Key::try_from(text.trim_end()).map_err(|_| Code::UnknownKey)
    }

    /// What a file holds if it, and its own directory, look shut.
    fn read(&self, path: &str) -> Found<Vec<u8>> {
        let check = |world: &mut World, id: Id| match is_shut(&world.disk.nodes[id].stat()) {
            true => Ok(()),
            false => Err(SystemError::Denied),
        };
        self.look_up("judges", path.rsplit_once('/').unwrap().0, true, check)?;
        let file = self.look_up("opens", path, true, |world, id| Files::open_node(world, id))?;
        check(&mut self.0.world(), file.id)?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
        loop {
            match self.0.read(&file, &mut piece, bytes.len() as u64)? {
                0 => return Ok(bytes),
                got => bytes.extend(&piece[..got]),
            }
        }
    }

    pub(crate) fn resolve(
        &self,
        at: &Location,
        map: &Map,
        entry: &Entry,
    ) -> Result<Grant<Handle>, Code> {
        let real = |path: &Path| self.real(path.to_str().unwrap());
        let file = real(&at.expand(entry.path()).unwrap())?;
        let roots = map.roots();
        let holds = |root: &Path| real(root).is_ok_and(|r| file.starts_with(&format!("{r}/")));
        if !roots.is_empty() && !roots.iter().any(|root| holds(root)) {
            return Err(Code::OutsideRoot);
        }
        let (directory, name) = file.rsplit_once('/').unwrap();
        let open = |world: &mut World, id| Ok(Files::handle(world, id));
        Ok(Grant {
            directory: self.look_up("opens", directory, true, open)?,
            name: name.to_owned(),
            max_bytes: entry.max_bytes(),
        })
    }

    /// `realpath`, as the C library does it: one name after another.
    fn real(&self, path: &str) -> Found<String> {
        let mut names: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut real = String::new();
        // Some of the links may lead in a circle.
        for _ in 0..100 {
            let Some(name) = names.pop() else {
                return Ok(real);
            };
            if name.is_empty() {
                continue;
            }
            let next = format!("{real}/{name}");
            let target = self.look_up("reads the link", &next, false, |world, id| {
                Ok(match &world.disk.nodes[id].node {
                    Node::Link(target) => Some(target.clone()),
                    _ => None,
                })
            })?;
            let Some(target) = target else {
                real = next;
                continue;
            };
            if target.starts_with('/') {
                real.clear();
            }
            names.extend(target.rsplit('/').map(str::to_owned));
        }
        Err(SystemError::Missing)
    }

    /// One look-up of a whole path, which the kernel does in one step.
    fn look_up<T: Hash>(
        &self,
        what: &str,
        path: &str,
        follow: bool,
        act: impl FnOnce(&mut World, Id) -> Found<T>,
    ) -> Found<T> {
        self.0.step(
            |disk| {
                let mut looks = vec![Part::Numbers];
                let found = disk.find(path, JANE, follow, &mut looks);
                looks.extend(found.ok().map(Part::Node));
                looks
            },
            |world| {
                let found = world.disk.find(path, JANE, follow, &mut Vec::new())?;
                act(world, found)
            },
            |_, _| format!("{what} {path}"),
        )
    }
}

/// Whether owner and mode say that only the user and root can change it.
fn is_shut(stat: &Stat) -> bool {
    let is_shut = stat.mode & 0o022 == 0 || stat.mode & STICKY != 0;
    [0, JANE.uid].contains(&stat.owner) && (is_shut || stat.kind == Kind::Link)
}

/// The guest's old file calls. They judge nothing, and compare only size and modification
/// time, and an `open` waits.
pub(crate) struct OldGuest(pub(crate) Files);

struct OldDirectory<'a>(&'a OldGuest, Handle);

struct OldFile<'a>(&'a Files, Handle);

impl Executor for OldGuest {
    type Directory = Handle;

    fn run(&self, key: &str, grant: Option<Grant<Handle>>, _: Instant) -> Result<String, Code> {
        ask(key, grant, |directory| Ok(OldDirectory(self, directory)))
    }

    fn interrupt(&self) {}
}

impl<'a> Directory for OldDirectory<'a> {
    type File = OldFile<'a>;

    fn is_regular(&self, name: &str) -> Result<bool, LoadError> {
        let kind = self.0.0.kind(&self.1, OsStr::new(name));
        Ok(kind.map_err(|_| LoadError::Internal)? == Kind::File)
    }

    fn open(&self, name: &str) -> Result<OldFile<'a>, LoadError> {
        let files = &self.0.0;
        let name = OsStr::new(name);
        let opened = files.child(&self.1, name, ("opens", true), |world, id| {
            let is_fifo = matches!(world.disk.nodes[id].node, Node::Fifo);
            let opened = Files::open_node(world, id);
            if is_fifo || matches!(opened, Err(SystemError::Busy)) {
                world.trouble = Some("the call hangs in the open of a file".into());
            }
            opened
        });
        Ok(OldFile(files, opened.map_err(|_| LoadError::Internal)?))
    }
}

impl File for OldFile<'_> {
    fn stat(&self) -> Result<keyhole_guest::Stat, LoadError> {
        let stat = self.0.stat(&self.1).map_err(|_| LoadError::Internal)?;
        Ok(keyhole_guest::Stat {
            regular: stat.kind == Kind::File,
            size: stat.size,
            modified: Some((stat.modified.0 as u64, stat.modified.1 as u32)),
            // The old code did not ask for it, so it did not count.
            changed: Some((0, 0)),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        let mut bytes = vec![0; len as usize];
        let got = self.0.read(&self.1, &mut bytes, offset);
        bytes.truncate(got.map_err(|_| LoadError::Internal)?);
        Ok(bytes)
    }
}
