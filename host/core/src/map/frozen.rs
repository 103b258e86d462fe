//! The map as it was at the start, for a server that gives up its own rights.

use super::{BindingName, Entry, Key, LiveMap, Map, MapError, Maps, locate};
use crate::{aside::patiently, code::Code, grant::Grant, limits::Limits};
use cap_std::fs::Dir;
use keyhole_walk::{FileSystem as _, Handle, System, SystemError, Walker, paths::is_exhaustion};
use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

/// Descriptors that a call may need: its directory, the file, and two more to be safe.
const DESCRIPTORS_PER_CALL: usize = 4;

/// Descriptors that the process needs in addition: standard streams, the runtime.
const DESCRIPTORS_BESIDES: usize = 32;

/// A look-up that takes longer is waited for beside the others.
const LATE: Duration = Duration::from_millis(100);

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
    /// The one binding that is served, with its key. None if the server is not bound.
    bound: Option<(BindingName, Result<Key, Code>)>,
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
    /// An entry whose number is in `hung` is refused without being looked at. If others do
    /// not answer within the time of a call, their numbers are added: then threads of this
    /// process hang there. A binding, with its key and its file, has the number 0.
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
        let until = Instant::now() + limits.deadline;
        let reader = Arc::clone(live);
        let map = patiently(until, move || reader.current())?
            .unwrap_or_else(|| Err(MapError::hangs(live.location().file())))?;
        let bound = match binding {
            Some(_) if hung.contains(&0) => Some(Err(Code::TimedOut)),
            Some(name) => Some(key_of(&map, name, until)?),
            None => None,
        };
        let keys: Vec<Key> = match &bound {
            Some(key) => key.iter().cloned().collect(),
            None => map
                .entries()
                .into_iter()
                .map(|(key, _)| key.clone())
                .collect(),
        };
        if matches!(bound, Some(Err(Code::TimedOut))) {
            hung.insert(0);
        }
        let mut directories = Directories::new(limits);
        let mut files = HashMap::new();
        let looked_up = look_up(&map, &keys, hung, until)?;
        for (number, (key, found)) in keys.into_iter().zip(looked_up).enumerate() {
            if matches!(found, Err(Code::TimedOut)) {
                hung.insert(number);
            }
            let file = match found {
                Ok(grant) => Ok(grant?.reopen(|held| directories.keep(held))?),
                Err(code) => Err(code),
            };
            files.insert(key, file);
        }
        let bound = binding.cloned().zip(bound);
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
            Some((served, key)) if served == name => key.clone(),
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

/// The key of the binding.
fn key_of(map: &Arc<Map>, name: &BindingName, until: Instant) -> io::Result<Result<Key, Code>> {
    let (map, name) = (Arc::clone(map), name.clone());
    let key = patiently(until, move || {
        let binding = map.binding(&name).ok_or(Code::UnknownKey)?;
        binding.key(&map).map_err(|error| error.code())
    })?;
    Ok(key.unwrap_or(Err(Code::TimedOut)))
}

/// A grant whose directory is open, and was looked at: its handle, and its number. Or why the
/// directory could not be looked at.
type Held = Result<Grant<(Handle, Id)>, SystemError>;

/// The device and the number of a directory.
type Id = (u64, u64);

/// The grant of each key's entry, in the same order, except of those that are `hung`.
///
/// One thread looks them up. Each time it takes long, another one goes on beside it: so all
/// that hang are waited for together. If none hangs, all threads have ended then.
fn look_up(
    map: &Arc<Map>,
    keys: &[Key],
    hung: &BTreeSet<usize>,
    until: Instant,
) -> io::Result<Vec<Result<Held, Code>>> {
    let asked = (0..keys.len()).filter(|number| !hung.contains(number));
    let asked: Arc<[(usize, Key)]> = asked.map(|number| (number, keys[number].clone())).collect();
    let mut found: Vec<_> = keys.iter().map(|_| Err(Code::TimedOut)).collect();
    let (mut threads, mut left) = (Vec::new(), asked.len());
    let (next, (send, receive)) = (Arc::new(AtomicUsize::new(0)), channel());
    while left > 0 && Instant::now() < until {
        if next.load(Ordering::Relaxed) < asked.len() {
            let (map, asked, next, send) = (map.clone(), asked.clone(), next.clone(), send.clone());
            threads.push(thread::Builder::new().spawn(move || {
                while let Some((number, key)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let entry = map.find(key).ok_or(Code::UnknownKey);
                    let grant = entry.and_then(|entry| {
                        let located = locate(&Walker::new(System), &map, entry);
                        located.map_err(|error| error.code())
                    });
                    let held = grant.map(|grant| grant.reopen(look_at));
                    // Nobody waits any more if the time is over.
                    let _ = send.send((*number, held));
                }
            })?);
        }
        while let Ok((number, held)) = receive.recv_timeout(LATE) {
            found[number] = held;
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    if left == 0 {
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
    Ok(found)
}

/// What the file system says of an open directory. It may hang there.
fn look_at(directory: Dir) -> Result<(Handle, Id), SystemError> {
    let handle = System.granted(directory)?;
    let id = System.stat(&handle)?.id();
    Ok((handle, id))
}

/// The directories that are kept open, each once.
struct Directories {
    most: usize,
    kept: HashMap<Id, Arc<Dir>>,
}

impl Directories {
    fn new(limits: Limits) -> Self {
        let reserved = limits.threads() * DESCRIPTORS_PER_CALL + DESCRIPTORS_BESIDES;
        let most = most_descriptors().saturating_sub(reserved);
        let kept = HashMap::new();
        Self { most, kept }
    }

    fn keep(&mut self, (handle, id): (Handle, Id)) -> Result<Arc<Dir>, FreezeError> {
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
