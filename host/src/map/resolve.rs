//! From an entry to an open directory and a name in it.
//!
//! The guest decides about the file. Here it is only made sure that the one
//! directory it is given is the one that the map means.

use super::{Entry, Map};
use crate::{
    code::Code,
    grant::Grant,
    walk::{Distrust, FileSystem, Policy, System, Trail, WalkError, Walked, Walker, into_file},
};
use cap_std::fs::Dir;
use std::path::PathBuf;

/// The directory and the name that an entry stands for, now.
///
/// The path is walked once, from `/`, and the directory that the walk ends in is
/// the one that is granted. Links that the user or root made are followed, so that
/// files kept by a dotfile manager just work; others are not. If the map has roots, the
/// walk must have passed one of them: that is asked of the directories themselves, all
/// of which are held, not of their names.
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
/// - [`Code::OutsideRoot`]: the real file's directory lies in none of the roots;
///   or a link on the way is not the user's, or somebody else could have put it
///   there; or the way leads into a file system of the kernel.
/// - [`Code::MapInvalid`]: the path begins with `~/`, and there is no home. A map
///   of this kind is refused as a whole before.
/// - [`Code::Internal`]: no descriptor is left.
/// - [`Code::Internal`]: the file system failed.
pub fn resolve(map: &Map, entry: &Entry) -> Result<Grant, Code> {
    resolve_along(map, None, entry)
}

/// As [`resolve()`], from what is still held of the way to the map.
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

/// As [`resolve()`], in any file system: the directory, held, and the name.
///
/// # Errors
/// As for [`resolve()`].
pub fn locate<F: FileSystem>(
    walker: &Walker<F>,
    map: &Map,
    trail: Option<&Trail<F::Handle>>,
    entry: &Entry,
) -> Result<(F::Handle, String), Code> {
    // After the last slash, so that `a.md/` and `a.md/.` are no Markdown names.
    if !is_markdown(entry.path.rsplit('/').next().unwrap_or_default().as_bytes()) {
        return Err(Code::NotMarkdown);
    }
    let file = walker
        .walk_along(trail, &map.expand(&entry.path)?, Policy::FOLLOWED)
        .map_err(|error| code_of(&error))?;
    // The guest asks this again. Here it keeps a link that is called `a.md` from
    // opening a directory such as `/etc` to the guest at all.
    if !is_markdown(file.name.as_encoded_bytes()) {
        return Err(Code::NotMarkdown);
    }
    if let Some(roots) = &map.roots
        && !is_in(walker, map, trail, roots, &entry.path, &file)?
    {
        return Err(Code::OutsideRoot);
    }
    let name = file.name.into_string().map_err(|_| Code::NotMarkdown)?;
    Ok((file.handle, name))
}

/// Whether a file lies in one of the roots. One that is not there, or that others could
/// have put there, holds nothing.
///
/// The root that the path names comes first, so that one on a file system that hangs
/// costs only its own files.
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
    /// The roots that hold nothing because others could put another directory in
    /// their place, with what to do about it. For the user's own `check`.
    #[must_use]
    pub fn distrusted_roots(&self) -> Vec<Distrust> {
        let walker = Walker::new(System);
        let roots = self.roots.iter().flatten();
        roots
            .filter_map(|root| self.expand(root).ok())
            .filter_map(|root| match walker.walk(&root, Policy::ROOT) {
                Err(WalkError::Untrusted(distrust)) => Some(distrust),
                _ => None,
            })
            .collect()
    }

    /// A path as written, made absolute.
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
