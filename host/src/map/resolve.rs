//! Turns an entry into an open directory and a name in it.
//!
//! The guest decides about the file. This module only ensures that the one directory
//! that the guest gets is the one that the map means.

use super::{Entry, Map};
use crate::{
    code::Code,
    grant::Grant,
    walk::{Distrust, FileSystem, Policy, System, Trail, WalkError, Walked, Walker, into_file},
};
use cap_std::fs::Dir;
use std::path::PathBuf;

/// The directory and the name that an entry stands for now.
///
/// The path is walked once, from `/`, and the grant is for the directory in which the
/// walk ends. The walk follows links that the user or root made, so that files kept by
/// a dotfile manager just work; it follows no others. If the map has roots, the walk
/// must have passed one of them: this compares the directories themselves, all of which
/// are open, not their names.
///
/// A hard link looks like any other file: a file that has a name inside a root is
/// served, whatever other names it has.
///
/// # Errors
/// - [`Code::NotMarkdown`]: the name in the map, or the real file's name, is not a stem
///   and `.md`, in exactly these bytes; or the real name is not UTF-8, which the
///   contract requires.
/// - [`Code::NotFound`], [`Code::PermissionDenied`]: as the file system says.
/// - [`Code::NotAFile`]: the path leads to `/`.
/// - [`Code::OutsideRoot`]: the real file's directory is in none of the roots; or a
///   link on the way is not the user's, or somebody else could have put it there; or
///   the path leads into a file system of the kernel.
/// - [`Code::MapInvalid`]: the path begins with `~/`, and there is no home. Such a map
///   was refused as a whole before.
/// - [`Code::OutOfResources`]: no descriptor or memory is left.
/// - [`Code::Internal`]: the file system failed.
pub fn resolve(map: &Map, entry: &Entry) -> Result<Grant, Code> {
    resolve_along(map, None, entry)
}

/// Like [`resolve()`], starting from the directories on the way to the map that are
/// still open.
///
/// # Errors
/// As for [`resolve()`].
pub(crate) fn resolve_along(
    map: &Map,
    trail: Option<&Trail>,
    entry: &Entry,
) -> Result<Grant, Code> {
    let (directory, name) = locate(&Walker::new(System), map, trail, entry)?;
    Ok(Grant {
        directory: Dir::from_std_file(into_file(directory).ok_or(Code::NotAFile)?),
        name,
        max_bytes: entry.max_bytes,
    })
}

/// Like [`resolve()`], in any file system: the open directory, and the name.
///
/// # Errors
/// As for [`resolve()`].
pub fn locate<F: FileSystem>(
    walker: &Walker<F>,
    map: &Map,
    trail: Option<&Trail<F::Handle>>,
    entry: &Entry,
) -> Result<(F::Handle, String), Code> {
    // The part after the last slash, so that `a.md/` and `a.md/.` are not Markdown
    // names.
    if !is_markdown(entry.path.rsplit('/').next().unwrap_or_default().as_bytes()) {
        return Err(Code::NotMarkdown);
    }
    let file = walker
        .walk_along(trail, &map.expand(entry.path)?, Policy::FOLLOWED)
        .map_err(|error| code_of(&error))?;
    // The guest checks this again. This check prevents a link that is called `a.md`
    // from opening a directory such as `/etc` to the guest at all.
    if !is_markdown(file.name.as_encoded_bytes()) {
        return Err(Code::NotMarkdown);
    }
    if let Some(roots) = &map.said.roots
        && !is_in(walker, map, trail, roots, entry.path, &file)?
    {
        return Err(Code::OutsideRoot);
    }
    let name = file.name.into_string().map_err(|_| Code::NotMarkdown)?;
    Ok((file.handle, name))
}

/// Whether a file is in one of the roots. A root that does not exist, or that others
/// could have put there, contains no file.
///
/// It looks first at the root that the path names, so that a root on a file system that
/// hangs delays only its own files.
fn is_in<F: FileSystem>(
    walker: &Walker<F>,
    map: &Map,
    trail: Option<&Trail<F::Handle>>,
    roots: &[Box<str>],
    path: &str,
    file: &Walked<F::Handle>,
) -> Result<bool, Code> {
    let mut roots: Vec<&str> = roots.iter().map(|root| &**root).collect();
    roots.sort_by_key(|root| !path.starts_with(root));
    for root in roots {
        match walker.walk_along(trail, &map.expand(root)?, Policy::ROOT) {
            Ok(root) if file.is_beneath(&root) => return Ok(true),
            Err(error @ WalkError::OutOfResources) => return Err(code_of(&error)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(false)
}

impl Map {
    /// The roots in which no file is served, because others could put another directory
    /// in their place, with what to do about it. Only for the user's own `check`.
    #[must_use]
    pub fn distrusted_roots(&self) -> Vec<Distrust> {
        let walker = Walker::new(System);
        let roots = self.said.roots.iter().flatten();
        roots
            .filter_map(|root| self.expand(root).ok())
            .filter_map(|root| match walker.walk(&root, Policy::ROOT) {
                Err(WalkError::Untrusted(distrust)) => Some(distrust),
                _ => None,
            })
            .collect()
    }

    /// A path from the map, made absolute.
    fn expand(&self, path: &str) -> Result<PathBuf, Code> {
        self.location.expand(path).ok_or(Code::MapInvalid)
    }
}

/// A stem and `.md`.
fn is_markdown(name: &[u8]) -> bool {
    name.strip_suffix(b".md")
        .is_some_and(|stem| !stem.is_empty())
}

fn code_of(error: &WalkError) -> Code {
    match error {
        WalkError::Missing => Code::NotFound,
        WalkError::Denied => Code::PermissionDenied,
        WalkError::NotAFile => Code::NotAFile,
        WalkError::Untrusted(_) => Code::OutsideRoot,
        WalkError::Unsteady => Code::Changed,
        WalkError::OutOfResources => Code::OutOfResources,
        WalkError::Failed(_) => Code::Internal,
    }
}

#[cfg(test)]
mod tests;
