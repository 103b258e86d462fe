//! What git may read: on Linux, the kernel refuses it everything else. A project can put a link in
//! the place of a folder while git looks, and git then reads through the link.

use crate::{Repository, Uncollected, file};
use rustix::fs::{Mode, OFlags, open};
use std::{
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    thread,
};

/// Where git, its libraries and its settings of the system are.
const SYSTEM_FOLDERS: [&str; 7] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/usr"];

/// The bytes of a file that names further folders of objects.
const MAX_ALTERNATES: usize = 64 << 10;

/// The folders beneath which git may read.
#[derive(Debug)]
pub(crate) struct Reach(Vec<OwnedFd>);

impl Reach {
    /// The system's folders, the checkout, the repository's folders, the folder `scratch`, and the
    /// folders `objects` of other repositories from which this one has objects. One that cannot be
    /// opened is left out.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if the file that names other folders is no regular file.
    #[expect(clippy::disallowed_methods, reason = "nothing is read there")]
    pub(crate) fn of(repository: &Repository, scratch: &Path) -> Result<Self, Uncollected> {
        let mut folders: Vec<PathBuf> = SYSTEM_FOLDERS.map(PathBuf::from).into();
        folders.push(repository.top().to_owned());
        folders.push(repository.git.clone());
        folders.push(repository.common.clone());
        folders.push(scratch.to_owned());
        folders.extend(alternates(&repository.common.join("objects"))?);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = folders
            .iter()
            .map(|folder| open(folder, flags, Mode::empty()));
        Ok(Self(opened.filter_map(Result::ok).collect()))
    }

    /// Starts a program that can open files for reading only beneath these folders, if the kernel
    /// has Landlock. A thread that restricts itself (`read_beneath`) does so for good, with all that
    /// it starts: so this is a thread of its own.
    pub(crate) fn start<T: Send>(
        &self,
        start: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let restricted = thread::Builder::new().spawn_scoped(scope, || {
                keyhole_wall::read_beneath(&self.0)?;
                start()
            });
            restricted?
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })
    }
}

/// The folders that `info/alternates` in this folder of objects names, each of which has to be
/// called `objects`, without links: so it holds no texts of anybody's.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, Uncollected> {
    let bytes = file::contents(&objects.join("info/alternates"), MAX_ALTERNATES)?;
    let mut folders = Vec::new();
    for line in bytes.unwrap_or_default().split(|byte| *byte == b'\n') {
        let real = fs::canonicalize(objects.join(OsStr::from_bytes(line)));
        folders.extend(real.ok().filter(|folder| folder.ends_with("objects")));
    }
    Ok(folders)
}
