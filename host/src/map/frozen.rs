//! The map as it was at the start, for a server that gives up its own rights.

use super::{BindingName, Entry, Key, LiveMap, Map, MapError, resolve};
use crate::{
    code::Code,
    grant::Grant,
    limits::Limits,
    os::{AsHeld, identity, most_descriptors},
};
use cap_std::fs::Dir;
use std::{collections::HashMap, fmt, io, sync::Arc};

/// Descriptors that a call may need: its directory, the file, and two more to be safe.
const DESCRIPTORS_PER_CALL: usize = 4;

/// Descriptors that the process needs in addition: standard streams, the runtime.
const DESCRIPTORS_BESIDES: usize = 32;

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
    directories: Vec<Dir>,
    files: HashMap<u32, Result<FrozenFile, Code>>,
    /// The one binding that is served, with its key. None if the server is not bound, or
    /// the binding had no key.
    bound: Option<(BindingName, Key)>,
}

struct FrozenFile {
    /// Its index in `directories`.
    directory: usize,
    name: String,
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
    #[error("cannot hold a mapped file's directory open: {0}")]
    Directory(#[source] io::Error),
}

impl FrozenMap {
    /// Reads the map and opens the directories.
    ///
    /// # Errors
    /// [`FreezeError`]. A file that cannot be served is not an error here: it is
    /// refused when a caller asks for it.
    pub fn freeze(live: &LiveMap, limits: Limits) -> Result<Self, FreezeError> {
        Self::hold(&live.current()?, limits)
    }

    /// Like [`Self::freeze`], for the one file of the binding `name`. It opens no other
    /// directory. A binding that has no key now, or whose key has no entry in the map,
    /// has no file, and stays refused.
    ///
    /// # Errors
    /// As for [`Self::freeze`].
    pub fn freeze_bound(
        live: &LiveMap,
        name: &BindingName,
        limits: Limits,
    ) -> Result<Self, FreezeError> {
        let map = live.current()?;
        let key = map.binding(name).and_then(|binding| binding.key(&map).ok());
        let entry = key.as_ref().and_then(|key| map.find(key));
        let bound = key.as_ref().map(|key| (name.clone(), key.clone()));
        Self::of(&map, entry, bound, most_directories(limits))
    }

    /// A map that did not come from a file, with its directories.
    ///
    /// # Errors
    /// As for [`Self::freeze`].
    pub(crate) fn hold(map: &Arc<Map>, limits: Limits) -> Result<Self, FreezeError> {
        Self::of(map, map.entries(), None, most_directories(limits))
    }

    /// With at most `most` directories.
    fn of<'a>(
        map: &'a Arc<Map>,
        entries: impl IntoIterator<Item = Entry<'a>>,
        bound: Option<(BindingName, Key)>,
        most: usize,
    ) -> Result<Self, FreezeError> {
        let mut frozen = Self {
            map: Arc::clone(map),
            directories: Vec::new(),
            files: HashMap::new(),
            bound,
        };
        let mut known = HashMap::new();
        for entry in entries {
            let file = match resolve(map, &entry) {
                Ok(Grant {
                    directory, name, ..
                }) => {
                    let identity = identity(&directory).map_err(FreezeError::Directory)?;
                    let index = match identity.and_then(|identity| known.get(&identity)) {
                        Some(index) => *index,
                        None if frozen.directories.len() == most => {
                            return Err(FreezeError::TooManyDirectories(most));
                        }
                        None => {
                            frozen.directories.push(directory);
                            identity.map(|identity| {
                                known.insert(identity, frozen.directories.len() - 1)
                            });
                            frozen.directories.len() - 1
                        }
                    };
                    Ok(FrozenFile {
                        directory: index,
                        name,
                    })
                }
                Err(code) => Err(code),
            };
            frozen.files.insert(entry.at, file);
        }
        Ok(frozen)
    }

    /// The map as it was at the start.
    #[must_use]
    pub fn map(&self) -> &Arc<Map> {
        &self.map
    }

    /// The key of the binding `name`, if this is the binding that is served, and it had
    /// a key.
    #[must_use]
    pub fn bound(&self, name: &BindingName) -> Option<&Key> {
        let (served, key) = self.bound.as_ref()?;
        (served == name).then_some(key)
    }

    /// The result of [`resolve()`] for an entry of this map, with its directory.
    ///
    /// # Errors
    /// As for [`resolve()`]; [`Code::Internal`] if no descriptor is left.
    pub fn resolve(&self, entry: &Entry) -> Result<Grant, Code> {
        let file = match self.files.get(&entry.at) {
            Some(Ok(file)) => file,
            Some(Err(code)) => return Err(*code),
            None => return Err(Code::Internal),
        };
        let directory = self
            .directories
            .get(file.directory)
            .and_then(|directory| directory.try_clone().ok())
            .ok_or(Code::Internal)?;
        Ok(Grant {
            directory,
            name: file.name.clone(),
            max_bytes: entry.max_bytes,
        })
    }

    /// All directories, each once: what the process must still be able to reach.
    pub fn directories(&self) -> impl Iterator<Item = impl AsHeld> {
        self.directories.iter()
    }
}

impl fmt::Debug for FrozenMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrozenMap").finish_non_exhaustive()
    }
}

/// How many directories can stay open so that calls can still be served.
fn most_directories(limits: Limits) -> usize {
    let reserved = (limits.running + limits.abandoned) * DESCRIPTORS_PER_CALL + DESCRIPTORS_BESIDES;
    most_descriptors()
        .map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        })
        .saturating_sub(reserved)
}

#[cfg(test)]
mod tests;
