//! Whether anybody but the user could have written the map.

use super::MapError;
use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;
/// Only a file's owner may remove or rename it in such a directory, as in `/tmp`.
const STICKY: u32 = 0o1000;
/// Root can change any file anyway.
const ROOT: u32 = 0;

/// As many links in a row as Linux follows: see path_resolution(7).
const MAX_LINKS: usize = 40;

/// The way to a file: the directory that its name stands in, and where that name
/// is a link, the next one's. Whoever can write to one of them, or owns one of the
/// links, chooses which file is found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way(Vec<Step>);

#[derive(Debug, PartialEq, Eq)]
struct Step {
    directory: PathBuf,
    access: Access,
    /// Of the link that stands there; none at the end, where the file stands.
    link: Option<Access>,
}

impl Way {
    /// The way to the file of this absolute path.
    pub(super) fn to(file: &Path) -> io::Result<Self> {
        let (mut at, mut steps) = (file.to_owned(), Vec::new());
        while steps.len() <= MAX_LINKS {
            let directory = at.parent().unwrap_or(&at).to_owned();
            let found = fs::symlink_metadata(&at)?;
            let target = match found.is_symlink() {
                true => Some(directory.join(fs::read_link(&at)?)),
                false => None,
            };
            steps.push(Step {
                access: Access::of(&fs::metadata(&directory)?),
                link: target.is_some().then(|| Access::of(&found)),
                directory,
            });
            match target {
                Some(target) => at = target,
                None => return Ok(Self(steps)),
            }
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    /// Nobody but the user and root may have laid it.
    pub(super) fn check(&self, user: u32) -> Result<(), MapError> {
        self.0.iter().try_for_each(|step| {
            step.access.check_directory(&step.directory, user)?;
            // A link has no mode of its own: only its owner counts.
            step.link
                .map_or(Ok(()), |link| link.check(&step.directory, user, true))
        })
    }
}

/// Who owns a file or directory, and who may write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    uid: u32,
    mode: u32,
}

impl Access {
    /// As the file system says.
    pub(super) fn of(file: &Metadata) -> Self {
        Self {
            uid: file.uid(),
            mode: file.mode(),
        }
    }

    /// The map itself must belong to the user or to root, and be writable by no
    /// one else: the map decides which files are handed out.
    pub(super) fn check_file(self, path: &Path, user: u32) -> Result<(), MapError> {
        self.check(path, user, self.mode & OTHERS_WRITE == 0)
    }

    /// So must each directory on the way to it: whoever can write to a directory can
    /// put another file in the map's place. A sticky directory does not allow that.
    ///
    /// Directories further up are not judged: a home whose parent is open to
    /// others is lost anyway.
    fn check_directory(self, path: &Path, user: u32) -> Result<(), MapError> {
        self.check(
            path,
            user,
            self.mode & OTHERS_WRITE == 0 || self.mode & STICKY != 0,
        )
    }

    fn check(self, path: &Path, user: u32, closed: bool) -> Result<(), MapError> {
        let path = || path.to_owned();
        if self.uid != user && self.uid != ROOT {
            Err(MapError::ForeignOwner { path: path() })
        } else if !closed {
            Err(MapError::WritableByOthers { path: path() })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, MapError};
    use std::path::Path;

    const USER: u32 = 1000;

    fn file(uid: u32, mode: u32) -> Result<(), MapError> {
        Access { uid, mode }.check_file(Path::new("m"), USER)
    }

    fn directory(uid: u32, mode: u32) -> Result<(), MapError> {
        Access { uid, mode }.check_directory(Path::new("d"), USER)
    }

    #[test]
    fn a_map_belongs_to_the_user_or_to_root() {
        assert!(file(USER, 0o100_600).is_ok());
        assert!(file(0, 0o100_644).is_ok());
        assert!(matches!(
            file(1001, 0o100_600),
            Err(MapError::ForeignOwner { .. })
        ));
        assert!(matches!(
            directory(1001, 0o040_755),
            Err(MapError::ForeignOwner { .. })
        ));
    }

    #[test]
    fn nobody_else_can_write_to_the_map() {
        for mode in [0o100_620, 0o100_602, 0o100_666, 0o101_602] {
            assert!(matches!(
                file(USER, mode),
                Err(MapError::WritableByOthers { .. })
            ));
        }
    }

    #[test]
    fn nobody_else_can_replace_the_map() {
        assert!(directory(USER, 0o040_755).is_ok());
        assert!(directory(0, 0o041_777).is_ok());
        for mode in [0o040_775, 0o040_757] {
            assert!(matches!(
                directory(USER, mode),
                Err(MapError::WritableByOthers { .. })
            ));
        }
    }
}
