//! From an entry to an open directory and a name in it.
//!
//! The guest decides about the file. Here it is only made sure that the one
//! directory it is given is the one that the map means.

use super::{Entry, Map};
use crate::{Code, Grant, resources::is_exhaustion};
use cap_std::fs::Dir;
use rustix::{
    fs::{CWD, Mode, OFlags},
    io::Errno,
};
use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// How often a path is looked up before a change under our hands counts as an
/// attack. A directory that is replaced in good faith is replaced once.
const ATTEMPTS: usize = 3;

/// The directory and the name that an entry stands for, now.
///
/// Links in the path are followed, so that files kept by a dotfile manager just
/// work; the real path then has to lie in one of the map's roots, component by
/// component, if the map has any. The directory is opened by its real path
/// without following a link anywhere, so that one that is put in its place in
/// the meantime is refused.
///
/// Hard links cannot be told from files: one that lies inside a root is served,
/// wherever else it has a name.
///
/// # Errors
/// - [`Code::NotMarkdown`]: the name in the map, or the real file's name, is not
///   a stem and `.md`, in exactly these bytes; or the latter is not UTF-8, which
///   the contract's names are.
/// - [`Code::NotFound`], [`Code::PermissionDenied`]: as the file system says.
/// - [`Code::NotAFile`]: it leads to `/`.
/// - [`Code::OutsideRoot`]: the real file's directory lies in none of the roots,
///   or the path kept changing.
/// - [`Code::MapInvalid`]: the path begins with `~/`, and there is no home. A map
///   of this kind is refused as a whole before.
/// - [`Code::Internal`]: the file system failed.
pub fn resolve(map: &Map, entry: &Entry) -> Result<Grant, Code> {
    // After the last slash, so that `a.md/` and `a.md/.` are no Markdown names.
    if !is_markdown(entry.path.rsplit('/').next().unwrap_or_default().as_bytes()) {
        return Err(Code::NotMarkdown);
    }
    let named = map.expand(&entry.path)?;
    for _ in 0..ATTEMPTS {
        let (directory, name) = locate(map, &named)?;
        match open_directory(&directory) {
            Ok(directory) => {
                return Ok(Grant {
                    directory: Dir::from_std_file(directory.into()),
                    name,
                    max_bytes: entry.max_bytes,
                });
            }
            // Something on the real path became a link, a file, or nothing.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => {}
            Err(error) => return Err(code_of(&error.into())),
        }
    }
    Err(Code::OutsideRoot)
}

impl Map {
    /// A path as written, made absolute.
    fn expand(&self, path: &str) -> Result<PathBuf, Code> {
        self.location.expand(path).ok_or(Code::MapInvalid)
    }
}

/// The real directory and name of a file that lies in the roots.
fn locate(map: &Map, named: &Path) -> Result<(PathBuf, String), Code> {
    let real = fs::canonicalize(named).map_err(|error| code_of(&error))?;
    let (Some(directory), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(Code::NotAFile);
    };
    // The guest asks this again. Here it keeps a link that is called `a.md` from
    // opening a directory such as `/etc` to the guest at all.
    if !is_markdown(name.as_encoded_bytes()) {
        return Err(Code::NotMarkdown);
    }
    let name = name.to_str().ok_or(Code::NotMarkdown)?;
    if let Some(roots) = &map.roots {
        // A root that is not there holds nothing.
        let inside = roots
            .iter()
            .filter_map(|root| fs::canonicalize(map.expand(root).ok()?).ok())
            .any(|root| directory.starts_with(root));
        if !inside {
            return Err(Code::OutsideRoot);
        }
    }
    Ok((directory.to_owned(), name.to_owned()))
}

/// A stem and `.md`.
fn is_markdown(name: &[u8]) -> bool {
    name.strip_suffix(b".md")
        .is_some_and(|stem| !stem.is_empty())
}

fn code_of(error: &io::Error) -> Code {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => Code::NotFound,
        Some(Errno::ACCESS | Errno::PERM) => Code::PermissionDenied,
        _ if is_exhaustion(error) => Code::OutOfResources,
        _ => Code::Internal,
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// Opens a directory by its absolute path, following no link anywhere in it.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    match open_without_links(path, OFlags::RDONLY | DIRECTORY) {
        // A directory that may be searched but not listed, as with mode 0711.
        #[cfg(target_os = "linux")]
        Err(Errno::ACCESS) => open_without_links(path, OFlags::PATH | DIRECTORY),
        opened => opened,
    }
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        // Kernels before 5.6 do not have it, and some containers forbid it.
        Err(Errno::NOSYS | Errno::PERM) => walk(path, flags),
        opened => opened,
    }
}

#[cfg(target_os = "macos")]
fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags.difference(OFlags::NOFOLLOW) | OFlags::NOFOLLOW_ANY;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

/// As `openat2` without links does, one component at a time.
#[cfg(target_os = "linux")]
fn walk(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use std::path::Component;
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => names.push(name),
            // A real path has no others.
            _ => return Err(Errno::INVAL),
        }
    }
    let Some(last) = names.pop() else {
        return rustix::fs::open("/", flags, Mode::empty());
    };
    // To pass through a directory, it need not be readable.
    let through = OFlags::PATH | DIRECTORY;
    let mut directory = rustix::fs::open("/", through, Mode::empty())?;
    for name in names {
        directory = rustix::fs::openat(&directory, name, through, Mode::empty())?;
    }
    rustix::fs::openat(&directory, last, flags, Mode::empty())
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
