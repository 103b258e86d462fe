//! What may be read of a project, by git and by us: on Linux, the kernel refuses everything else. A
//! project can put a link in the place of a folder while git looks, and git then reads through the
//! link.

use crate::{Repository, Uncollected, file, repository::common_if_repository};
use std::{
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    thread,
};

/// Where git and its libraries are. Others may have put something of theirs beside them: homes in
/// `/usr`, or a text in `/dev/shm`.
const SYSTEM_FOLDERS: [&str; 13] = [
    "/bin",
    "/dev/null",
    "/etc/ld.so.cache",
    "/lib",
    "/lib64",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/share/git-core",
];

/// The bytes of a file that names further folders of objects.
const MAX_ALTERNATES: usize = 64 << 10;

/// How many folders of objects are looked at.
const MAX_FOLDERS: usize = 20;

/// The folders beneath which files may be read.
#[derive(Debug)]
pub(crate) struct Reach(Vec<OwnedFd>);

impl Reach {
    /// The system's folders, the checkout, the repository's folders, the folder `scratch`, and the
    /// folders `objects` of other repositories from which this one has objects. One that cannot be
    /// opened, or to which a link leads by now, is left out.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if the file that names other folders is no regular file.
    pub(crate) fn of(repository: &Repository, scratch: &Path) -> Result<Self, Uncollected> {
        let mut folders: Vec<PathBuf> = SYSTEM_FOLDERS.map(PathBuf::from).into();
        folders.push(repository.top().to_owned());
        folders.push(repository.git.clone());
        folders.push(repository.common.clone());
        folders.push(scratch.to_owned());
        folders.extend(folders_of_objects(&repository.common.join("objects"))?);
        let opened = folders
            .iter()
            .filter_map(|folder| without_links(folder).ok());
        Ok(Self(opened.collect()))
    }

    /// Runs `work`, which can open files for reading only beneath these folders, if the kernel has
    /// Landlock. This is also so for a program that it starts. A thread that restricts itself
    /// (`read_beneath`) does so for good: so this is a thread of its own.
    ///
    /// # Errors
    /// Those of `work`, and if the thread cannot start, cannot restrict itself, or panics.
    pub(crate) fn run_within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let restricted = thread::Builder::new().spawn_scoped(scope, || {
                keyhole_wall::read_beneath(&self.0)?;
                work()
            });
            restricted?
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })
    }
}

/// Opens a folder or file that no link leads to: what is opened is what was judged by its path.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn without_links(folder: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    Ok(opened?)
}

/// Opens nothing: the system restricts no thread.
#[cfg(not(target_os = "linux"))]
fn without_links(_: &Path) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The folder `objects`, and those from which it has objects by `info/alternates`, from which these
/// have objects, and so on, at most [`MAX_FOLDERS`]. Each has to be called `objects`, without links,
/// in a folder that is a repository: a shell could name any other folder there. What is in another
/// repository's folder, nobody gets who does not know the whole name of an object.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn folders_of_objects(objects: &Path) -> Result<Vec<PathBuf>, Uncollected> {
    let mut folders = Vec::new();
    let mut left: Vec<PathBuf> = fs::canonicalize(objects).into_iter().collect();
    while let Some(folder) = left.pop() {
        let is_known = folders.contains(&folder) || folders.len() == MAX_FOLDERS;
        let repository = folder.parent().map(common_if_repository);
        let is_of_repository = matches!(repository, Some(Ok(Some(_))));
        if is_known || !folder.ends_with("objects") || !is_of_repository {
            continue;
        }
        let bytes = file::contents(&folder.join("info/alternates"), MAX_ALTERNATES)?;
        let lines = bytes.unwrap_or_default();
        for line in lines.split(|byte| *byte == b'\n').take(MAX_FOLDERS) {
            left.extend(fs::canonicalize(folder.join(OsStr::from_bytes(line))));
        }
        folders.push(folder);
    }
    Ok(folders)
}
