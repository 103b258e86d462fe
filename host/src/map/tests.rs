//! For tests: a map and other files, in a directory of their own.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{LiveMap, Location};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Such a directory. The map is `map.toml`, and need not be there.
pub(crate) struct Tree(TempDir);

impl Tree {
    /// With nothing in it.
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With this map.
    pub(crate) fn with(map: impl AsRef<[u8]>) -> Self {
        let tree = Self::empty();
        tree.write("map.toml", map);
        tree
    }

    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    /// The path of something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn map(&self) -> PathBuf {
        self.path("map.toml")
    }

    /// Writes a file that is the user's own, and makes its directories.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// The map's place, for a user without a home.
    pub(crate) fn location(&self) -> Location {
        at(&self.map())
    }

    pub(crate) fn live(&self) -> LiveMap {
        LiveMap::new(self.location())
    }
}

/// The place of a map that is named, for a user without a home.
pub(crate) fn at(map: &Path) -> Location {
    Location::find(Some(map), |_| None).unwrap()
}
