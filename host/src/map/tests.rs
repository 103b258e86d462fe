//! For tests: a map and other files, in a directory of their own. Tests of other modules add
//! what they do with it.
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
        Self::of(&[])
    }

    /// With these files. Each contains its own name.
    pub(crate) fn of(files: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for file in files {
            tree.write(file, file);
        }
        tree
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

    /// The real path of something in it. On Windows, a real path has a form that no user
    /// writes, and temporary directories are no links there.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match cfg!(windows) {
            true => self.0.path().join(name),
            false => self.0.path().canonicalize().unwrap().join(name),
        }
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
        self.mode(name, 0o600);
    }

    #[cfg(unix)]
    pub(crate) fn mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes a link, and its directories.
    #[cfg(unix)]
    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
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
