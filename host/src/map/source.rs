//! The map, and how its entries are resolved: at each call, or once at the start.

use super::{BindingName, Entry, FrozenMap, Key, LiveMap, Map, resolve_along};
use crate::{
    code::Code,
    grant::{Directory, Grant},
    walk::Trail,
};
use std::sync::Arc;

/// The map, and how its entries are resolved. If a user's files are read, this is a
/// [`MapSource`]; tests have one over files in memory.
#[doc(hidden)]
pub trait Maps: Send + Sync + 'static {
    /// An open directory.
    type Directory;
    /// What is still held of the way to the map.
    type Trail;

    /// The map that is valid for this call.
    ///
    /// # Errors
    /// The [`Code`] of a map that cannot be used.
    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code>;

    /// Reads the map before the first call, if that saves the call time.
    fn read_ahead(&self) {}

    /// From now on, several threads may read a large map.
    fn use_threads(&self) {}

    /// The key that a binding stands for. There is none if the binding is gone, or
    /// the file or variable that held its key. A caller then learns the same as if
    /// the key had left the map.
    ///
    /// # Errors
    /// [`Code::UnknownKey`].
    fn bound(&self, map: &Map, name: &BindingName) -> Result<Key, Code>;

    /// The grant for an entry of that map.
    ///
    /// # Errors
    /// As for [`crate::resolve()`].
    fn resolve(
        &self,
        map: &Map,
        trail: &Self::Trail,
        entry: &Entry,
    ) -> Result<Grant<Self::Directory>, Code>;
}

/// The map, and how its entries are resolved.
#[derive(Debug)]
pub enum MapSource {
    /// The map is read, and its entries resolved, at each call.
    Live(Arc<LiveMap>),
    /// The map was read, and its entries resolved, at the start. A sealed process
    /// needs this, because it could not do it later.
    Frozen(FrozenMap),
}

impl Maps for MapSource {
    type Directory = Directory;
    type Trail = Option<Trail>;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        match self {
            Self::Live(live) => live.current_and_trail().map_err(|error| error.code()),
            Self::Frozen(frozen) => Ok((Arc::clone(frozen.map()), None)),
        }
    }

    fn read_ahead(&self) {
        if let Self::Live(live) = self {
            live.read_ahead();
        }
    }

    fn use_threads(&self) {
        if let Self::Live(live) = self {
            live.use_threads();
        }
    }

    fn bound(&self, map: &Map, name: &BindingName) -> Result<Key, Code> {
        match self {
            Self::Live(_) => map.binding(name).and_then(|binding| binding.key(map).ok()),
            Self::Frozen(frozen) => frozen.bound(name).cloned(),
        }
        .ok_or(Code::UnknownKey)
    }

    fn resolve(&self, map: &Map, trail: &Self::Trail, entry: &Entry) -> Result<Grant, Code> {
        match self {
            Self::Live(_) => resolve_along(map, trail.as_ref(), entry),
            Self::Frozen(frozen) => frozen.resolve(entry),
        }
    }
}

impl From<Arc<LiveMap>> for MapSource {
    fn from(live: Arc<LiveMap>) -> Self {
        Self::Live(live)
    }
}

impl From<FrozenMap> for MapSource {
    fn from(frozen: FrozenMap) -> Self {
        Self::Frozen(frozen)
    }
}
