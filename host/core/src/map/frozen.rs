//! The map as it was at the start, for a server that gives up its own rights.

use super::{BindingName, Entry, Key, LiveMap, Map, MapError, Maps, locate};
use crate::{code::Code, grant::Grant, limits::Limits};
use cap_std::fs::Dir;
use keyhole_walk::{FileSystem as _, System, SystemError, Walker, paths::is_exhaustion};
use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::{Arc, mpsc::channel},
    thread,
    time::Duration,
};

/// Descriptors that a call may need: its directory, the file, and two more to be safe.
const DESCRIPTORS_PER_CALL: usize = 4;

/// Descriptors that the process needs in addition: standard streams, the runtime.
const DESCRIPTORS_BESIDES: usize = 32;

/// How long the start waits for another look-up once one has hung, so that it ends soon.
const PATIENCE: Duration = Duration::from_secs(1);

/// A map that is read once. It keeps the directory of each of its files open.
///
/// The keys are fixed. For each key, the directory and the name of its real file are
/// fixed too, as the links led at that moment. The file of this name in this directory
/// is not fixed: each call looks it up. So new content is served, whether it is written
/// in place or saved by renaming.
///
/// An entry that could not be resolved keeps its refusal, even if the file appears
/// later.
pub struct FrozenMap {
    map: Arc<Map>,
    files: HashMap<Key, Result<Grant<Arc<Dir>>, Code>>,
    /// The one binding that is served, with its key. None if the server is not bound, or
    /// the binding had no key.
    bound: Option<(BindingName, Key)>,
}

/// Why a map cannot be frozen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// There is no usable map. The map is not read again, so it cannot be fixed later.
    #[error("{}", .0.at_start())]
    Map(#[from] MapError),
    /// The files lie in more directories than can be held open.
    #[error(
        "the mapped files lie in more than {0} directories, which is as many as can be held open here; raise the limit of open files (ulimit -n), or keep the files in fewer directories"
    )]
    TooManyDirectories(usize),
    /// A directory that was found could not be kept open.
    #[error("cannot hold the mapped files' directories open: {0}")]
    Directory(#[from] SystemError),
    /// There was no thread to look for a file.
    #[error("cannot look for the mapped files: {0}")]
    Thread(#[from] io::Error),
}

impl FrozenMap {
    /// Reads the map and opens the directories. With `binding`, it opens only that of the
    /// binding's one file; a binding that has no key now, or whose key has no entry in the
    /// map, has no file, and stays refused.
    ///
    /// An entry whose number is in `hung` is refused without being looked at. If another one
    /// does not answer either, its number is added: then a thread of this process hangs
    /// there.
    ///
    /// # Errors
    /// [`FreezeError`]. A file that cannot be served is not an error here: it is
    /// refused when a caller asks for it.
    pub fn freeze(
        live: &Arc<LiveMap>,
        binding: Option<&BindingName>,
        hung: &mut BTreeSet<usize>,
        limits: Limits,
    ) -> Result<Self, FreezeError> {
        let mut patience = limits.deadline;
        let (map, key) = read(live, binding, patience)?;
        let bound = binding.cloned().zip(key);
        let keys: Vec<&Key> = match binding {
            Some(_) => bound.iter().map(|(_, key)| key).collect(),
            None => map.entries().into_iter().map(|(key, _)| key).collect(),
        };
        let mut directories = Directories::new(limits);
        let mut files = HashMap::new();
        for (number, key) in keys.into_iter().enumerate() {
            let found = match hung.contains(&number) {
                true => Err(Code::TimedOut),
                false => resolve(&map, key, patience)?,
            };
            if matches!(found, Err(Code::TimedOut)) && hung.insert(number) {
                patience = PATIENCE;
            }
            let file = match found {
                Ok(grant) => Ok(grant.reopen(|directory| directories.keep(directory))?),
                Err(code) => Err(code),
            };
            files.insert(key.clone(), file);
        }
        Ok(Self { map, files, bound })
    }

    /// The map as it was at the start.
    pub fn map(&self) -> &Arc<Map> {
        &self.map
    }

    /// All directories: what the process must still be able to reach.
    pub fn directories(&self) -> impl Iterator<Item = &Dir> {
        self.files.values().flatten().map(|file| &*file.directory)
    }
}

impl Maps for FrozenMap {
    type Directory = Dir;

    fn map_now(&self) -> Result<Arc<Map>, Code> {
        Ok(Arc::clone(&self.map))
    }

    fn bound(&self, _: &Map, name: &BindingName) -> Result<Key, Code> {
        match &self.bound {
            Some((served, key)) if served == name => Ok(key.clone()),
            _ => Err(Code::UnknownKey),
        }
    }

    fn resolve(&self, _: &Map, key: &Key, _: &Entry) -> Result<Grant, Code> {
        let file = self.files.get(key).ok_or(Code::Internal)?.clone()?;
        let reopened = file.reopen(|directory| directory.try_clone());
        reopened.map_err(|error| match is_exhaustion(&error) {
            true => Code::OutOfResources,
            false => Code::Internal,
        })
    }
}

/// The map, and the key of the binding.
fn read(
    live: &Arc<LiveMap>,
    binding: Option<&BindingName>,
    patience: Duration,
) -> Result<(Arc<Map>, Option<Key>), FreezeError> {
    let (reader, name) = (Arc::clone(live), binding.cloned());
    let read = within(patience, move || {
        let map = reader.current()?;
        let binding = name.and_then(|name| map.binding(&name));
        let key = binding.and_then(|binding| binding.key(&map).ok());
        Ok((map, key))
    })?;
    Ok(read.unwrap_or_else(|| Err(MapError::hangs(live.location().file())))?)
}

/// The grant of this key's entry.
fn resolve(map: &Arc<Map>, key: &Key, patience: Duration) -> io::Result<Result<Grant, Code>> {
    let (map, key) = (Arc::clone(map), key.clone());
    let found = within(patience, move || {
        let entry = map.find(&key).ok_or(Code::UnknownKey)?;
        locate(&Walker::new(System), &map, entry).map_err(|error| error.code())
    })?;
    Ok(found.unwrap_or(Err(Code::TimedOut)))
}

/// What `look` finds on a thread of its own, which has ended then. None if that takes longer:
/// its file system hangs, and so does the thread.
fn within<T: Send + 'static>(
    patience: Duration,
    look: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (send, receive) = channel();
    let thread = thread::Builder::new().spawn(move || drop(send.send(look())))?;
    let found = receive.recv_timeout(patience);
    if found.is_ok() {
        drop(thread.join());
    }
    Ok(found.ok())
}

/// The directories that are kept open, each once.
struct Directories {
    most: usize,
    kept: HashMap<(u64, u64), Arc<Dir>>,
}

impl Directories {
    fn new(limits: Limits) -> Self {
        let reserved = limits.threads() * DESCRIPTORS_PER_CALL + DESCRIPTORS_BESIDES;
        let most = most_descriptors().saturating_sub(reserved);
        let kept = HashMap::new();
        Self { most, kept }
    }

    fn keep(&mut self, directory: Dir) -> Result<Arc<Dir>, FreezeError> {
        let handle = System.granted(directory)?;
        let id = System.stat(&handle)?.id();
        if let Some(known) = self.kept.get(&id) {
            return Ok(Arc::clone(known));
        }
        if self.kept.len() == self.most {
            return Err(FreezeError::TooManyDirectories(self.most));
        }
        let directory = System.to_grant(handle).ok_or(SystemError::NotAFile)?;
        Ok(Arc::clone(self.kept.entry(id).or_insert(directory.into())))
    }
}

/// How many descriptors the process may have.
fn most_descriptors() -> usize {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(windows)]
    let limit: Option<u64> = None;
    limit.map_or(usize::MAX, |limit| limit.try_into().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests;
