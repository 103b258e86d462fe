//! A `GIT_DIR` of our own, over the project's objects: without its configuration, hooks, filters
//! and programs.

use crate::{Repository, Uncollected, budget::Budget, file, refs::Format};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::{ffi::OsStringExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

/// The configuration. The commit graph and the index of packs say of objects what nobody checks;
/// the untracked cache and the monitor say of files what only the project knows.
const CONFIG: &str = "[core]
repositoryformatversion = 1
commitGraph = false
multiPackIndex = false
untrackedCache = false
fsmonitor = false
quotePath = false
[extensions]
objectFormat = ";

/// The bytes of the index and of what else is copied: 64 MB are the index of half a million files.
const COPIED: usize = 64 << 20;

/// The folder that is git's `GIT_DIR`. It goes with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

#[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
impl Scratch {
    /// Makes the folder beneath `folder`, for this repository with objects of this format.
    ///
    /// # Errors
    /// [`Uncollected::NoScratch`] if it cannot be made; [`Uncollected::Unreadable`] if the index or
    /// another file that is copied is no regular file, or if no line can hold the objects' path;
    /// [`Uncollected::TooMuch`] if what is copied is more than the budget.
    pub(crate) fn make(
        repository: &Repository,
        format: &Format,
        folder: &Path,
        budget: &mut Budget,
    ) -> Result<Self, Uncollected> {
        // Git would take away `..` without a look at links.
        let folder_of_objects = fs::canonicalize(repository.common.join("objects"))?;
        let objects = folder_of_objects.into_os_string().into_vec();
        if objects.contains(&b'\n') {
            return Err(Uncollected::Unreadable);
        }
        let scratch = Self::empty(folder).map_err(|_| Uncollected::NoScratch)?;
        let config = format!("{CONFIG}{}\n", format.name);
        scratch.write("HEAD", b"ref: refs/heads/none\n")?;
        scratch.write("config", config.as_bytes())?;
        scratch.write("objects/info/alternates", &objects)?;
        let mut copied = vec![
            (repository.git.join("index"), "index".to_owned()),
            (repository.common.join("shallow"), "shallow".to_owned()),
            (
                repository.common.join("info/exclude"),
                "info/exclude".to_owned(),
            ),
        ];
        for found in fs::read_dir(&repository.git)? {
            let entry = found?;
            // A split index is in two files. Git names the second by what it holds.
            if let Ok(name) = entry.file_name().into_string()
                && name.starts_with("sharedindex.")
            {
                copied.push((entry.path(), name));
            }
        }
        for (from, name) in copied {
            if let Some(bytes) = file::contents(&from, COPIED)? {
                budget.take(bytes.len())?;
                scratch.write(&name, &bytes)?;
            }
        }
        Ok(scratch)
    }

    /// A new folder beneath `folder`, with the folders that git asks for.
    fn empty(folder: &Path) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let number = now.unwrap_or_default().as_nanos();
        let path = folder.join(format!("git-{}-{number}", process::id()));
        let mut private = DirBuilder::new();
        private.mode(0o700).create(&path)?;
        let scratch = Self(path);
        for name in ["info", "refs", "objects", "objects/info"] {
            private.create(scratch.0.join(name))?;
        }
        Ok(scratch)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file of the folder, over the one that was there.
    ///
    /// # Errors
    /// [`Uncollected::NoScratch`] if it cannot.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Uncollected> {
        fs::write(self.0.join(name), bytes).map_err(|_| Uncollected::NoScratch)
    }

    /// Opens a file of the folder: a new one, or the one that was written.
    ///
    /// # Errors
    /// [`Uncollected::NoScratch`] if it cannot be opened.
    pub(crate) fn open(&self, name: &str, options: &OpenOptions) -> Result<File, Uncollected> {
        let opened = options.open(self.0.join(name));
        opened.map_err(|_| Uncollected::NoScratch)
    }
}

impl Drop for Scratch {
    #[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
    fn drop(&mut self) {
        // If it cannot be removed, nobody is left to tell.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn nobody_else_can_look_into_gits_folder() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::empty(folder.path()).unwrap();
        let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }
}
