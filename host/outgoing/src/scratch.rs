//! A `GIT_DIR` of our own, over the project's objects: without its configuration, hooks, filters
//! and programs.

use crate::{Repository, Uncollected, budget::Budget, file, refs::Format};
use std::{
    fs::{self, DirBuilder, DirEntry, File, OpenOptions},
    io,
    os::unix::{ffi::OsStringExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The configuration. The commit graph and the index of packs say of objects what nobody checks;
/// the untracked cache and the monitor say of files what only the project knows. In a sparse
/// checkout, git looks at a file that is there, whatever the index says.
const CONFIG: &str = "[core]
repositoryformatversion = 1
commitGraph = false
multiPackIndex = false
untrackedCache = false
fsmonitor = false
quotePath = false
sparseCheckout = true
[extensions]
objectFormat = ";

/// The bytes of the index and of what else is copied: 64 MB are the index of half a million files.
pub(crate) const MAX_COPIED: usize = 64 << 20;

/// How the name of each such folder begins.
const NAME_START: &str = "keyhole-git-";

/// No look takes so long: what is older was left by a run that somebody ended.
const LEFT_OVER_AGE: Duration = Duration::from_secs(3600);

/// Git knows ten parts of an index.
const MAX_PARTS: usize = 16;

/// The bytes of an index's own hash, in SHA-1 and in SHA-256.
const HASH_SIZES: [usize; 2] = [20, 32];

/// The folder that is git's `GIT_DIR`: its path, without links. It goes with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

#[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
impl Scratch {
    /// A new folder beneath `folder` that is git's `GIT_DIR`: with a configuration of our own, the
    /// path of the repository's objects, and copies of its index and of what git needs besides. Old
    /// folders of this kind are removed first.
    ///
    /// # Errors
    /// [`Uncollected::NoScratch`] if it cannot be made; [`Uncollected::Unreadable`] if the
    /// repository has no folder `objects`, if the path of this has a line's end, or if a file that
    /// is copied is no regular file; [`Uncollected::TooMuch`] if what is copied is more than the
    /// budget; [`Uncollected::TooSlow`].
    pub(crate) fn make(
        repository: &Repository,
        format: &Format,
        folder: &Path,
        budget: &mut Budget,
    ) -> Result<Self, Uncollected> {
        // Without links and `..`: git would take out `..` without a look at the links before it.
        let folder_of_objects = fs::canonicalize(repository.common.join("objects"))?;
        let objects = folder_of_objects.into_os_string().into_vec();
        if objects.contains(&b'\n') {
            return Err(Uncollected::Unreadable);
        }
        remove_old(folder, budget)?;
        let made = fs::canonicalize(folder).and_then(|real| Self::with_empty_folders(&real));
        let scratch = made.map_err(|_| Uncollected::NoScratch)?;
        let config = format!("{CONFIG}{}\n", format.name);
        scratch.write("HEAD", b"ref: refs/heads/none\n")?;
        scratch.write("config", config.as_bytes())?;
        scratch.write("objects/info/alternates", &objects)?;
        scratch.copy(&repository.common, "shallow", budget)?;
        scratch.copy(&repository.common, "info/exclude", budget)?;
        scratch.copy(&repository.common, "info/attributes", budget)?;
        scratch.copy(&repository.git, "index", budget)?;
        Ok(scratch)
    }

    /// Copies the file with this name from `folder`, with its time of change. Does nothing if there
    /// is no such file. Of a split index, only the first file is copied: git then fails, and nothing
    /// is told.
    ///
    /// The index needs its time: git looks again at each file that is not older than the index, as
    /// it may have changed in the second in which it was staged.
    ///
    /// # Errors
    /// [`Uncollected::TooMuch`] if the file has more than [`MAX_COPIED`] bytes, or more than the
    /// budget; and those of [`file::contents`] and [`Self::write`].
    fn copy(&self, folder: &Path, name: &str, budget: &mut Budget) -> Result<(), Uncollected> {
        let path = folder.join(name);
        // This is asked before the read: an index that is replaced meanwhile then counts as older.
        let metadata = fs::symlink_metadata(&path);
        if let Some(mut bytes) = file::contents(&path, MAX_COPIED)? {
            budget.take_bytes(bytes.len())?;
            if name == "index" {
                forget_trees(&mut bytes);
            }
            self.write(name, &bytes)?;
            let copy = self.open(name, OpenOptions::new().write(true))?;
            copy.set_modified(metadata?.modified()?)?;
        }
        Ok(())
    }

    /// A new folder beneath `folder` that only the user may enter, with the empty folders that git
    /// asks for. Its name has the process's number and the time: `keyhole-git-4711-1764436800000`.
    ///
    /// # Errors
    /// If one of these folders cannot be made, also if the first one is there already.
    fn with_empty_folders(folder: &Path) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanoseconds = now.unwrap_or_default().as_nanos();
        let path = folder.join(format!("{NAME_START}{}-{nanoseconds}", process::id()));
        let mut for_user_only = DirBuilder::new();
        for_user_only.mode(0o700).create(&path)?;
        let scratch = Self(path);
        for name in ["info", "refs", "objects", "objects/info"] {
            for_user_only.create(scratch.0.join(name))?;
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

/// Renames the part of an index that says which tree each of its folders is, `TREE`, to `XREE`.
/// Git believes `TREE`, whoever wrote it, and passes by a part with another name. These four letters
/// count only if parts follow from there to the index's end: in a file's name, they stay.
fn forget_trees(index: &mut [u8]) {
    for at in 0..index.len() {
        let part = index.get(at..).unwrap_or_default();
        if part.starts_with(b"TREE")
            && HASH_SIZES.iter().any(|size| are_parts(part, *size))
            && let Some(letter) = index.get_mut(at)
        {
            // A name in capitals is one that git may pass by.
            *letter = b'X';
        }
    }
}

/// Whether these bytes are the last parts of an index, each with a name of four letters, a length
/// of four bytes, and so many bytes; and behind them the index's own hash, which has `size_of_hash`
/// bytes. Not if there are more than [`MAX_PARTS`] (16) parts, or if a part is cut off.
fn are_parts(bytes: &[u8], size_of_hash: usize) -> bool {
    let mut rest = bytes;
    for _ in 0..MAX_PARTS {
        if rest.len() <= size_of_hash {
            break;
        }
        let Some(([_, _, _, _, length @ ..], behind)) = rest.split_first_chunk::<8>() else {
            return false;
        };
        let Some(next) = behind.get(u32::from_be_bytes(*length) as usize..) else {
            return false;
        };
        rest = next;
    }
    rest.len() == size_of_hash
}

/// Removes the folders in `folder` that an ended run has left: each that begins with [`NAME_START`]
/// and was not changed for an hour. A link to a folder stays, and so does what cannot be removed.
/// If `folder` cannot be read, nothing is removed.
///
/// # Errors
/// [`Uncollected::TooSlow`].
#[expect(clippy::disallowed_methods, reason = "they are folders of our own")]
fn remove_old(folder: &Path, budget: &Budget) -> Result<(), Uncollected> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        budget.time_left()?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(NAME_START.as_bytes()) && is_old_folder(&entry) {
            // Another run may remove it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Whether this is a folder, and no link to one, that nobody has changed for an hour. Not if the
/// system does not tell, or if the time of its change is still to come.
fn is_old_folder(entry: &DirEntry) -> bool {
    let Ok(found) = entry.metadata() else {
        return false;
    };
    let age = found.modified().map(|time| time.elapsed());
    found.is_dir() && matches!(age, Ok(Ok(since)) if since > LEFT_OVER_AGE)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn nobody_else_can_look_into_gits_folder() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::with_empty_folders(folder.path()).unwrap();
        let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }

    #[test]
    fn what_is_left_for_an_hour_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["keyhole-git-1-1", "keyhole-git-2-2", "git-3-3", "far"] {
            fs::create_dir_all(path(name).join("objects")).unwrap();
        }
        std::os::unix::fs::symlink(path("far"), path("keyhole-git-4-4")).unwrap();
        std::os::unix::fs::symlink(path("far"), path("keyhole-git-1-1/l")).unwrap();
        let long_ago = SystemTime::now() - LEFT_OVER_AGE * 2;
        for name in ["keyhole-git-1-1", "git-3-3", "far"] {
            let opened = File::open(path(name)).unwrap();
            opened.set_modified(long_ago).unwrap();
        }
        remove_old(folder.path(), &Budget::new()).unwrap();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            ["far", "git-3-3", "keyhole-git-2-2", "keyhole-git-4-4"]
        );
        assert!(path("far/objects").exists());
    }
}
