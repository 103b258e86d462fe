//! Turns an entry into an open directory and a name in it: the one directory that the guest gets is
//! the one that the map means. The guest decides about the file.

use super::{Entry, Map};
use crate::{
    grant::{Grant, Granted},
    refusal::Refusal,
};
use keyhole_walk::{FileSystem, Policy, SystemError, WalkError, Walked, Walker};
use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
};

/// The grant for an entry: the open directory that its file is in now, and the file's real name
/// there. The file itself is not opened. The path is walked once, from `/`, and links are followed:
/// if `~/a.md` leads to `/srv/b.md`, the grant is for `b.md` in `/srv`.
///
/// If the map has roots, the walk must have passed one of them: this compares the directories
/// themselves, all of which are open, not their names.
///
/// # Errors
/// [`Refusal::NotMarkdown`] if the name in the map, or the real one, is not a stem and `.md`:
/// `a.txt`, `a.MD`, `.md`, `a.md/`, or a real name that is not UTF-8. [`Refusal::MapInvalid`] if
/// the path begins with `~/` and there is no home. Any error of the walk, such as
/// [`Refusal::NotFound`]. [`Refusal::OutsideRoot`] if the walk passed none of the roots.
pub fn locate<F: FileSystem>(walker: &Walker<F>, map: &Map, entry: &Entry) -> Granted<F::Handle> {
    // What stands behind the last slash: nothing in `a.md/`, and `.` in `a.md/.`.
    let last = entry.path.rsplit('/').next().unwrap_or_default();
    if !is_markdown(last.as_bytes()) {
        return Err(Refusal::NotMarkdown);
    }
    let Some(path) = map.location.expand(&entry.path) else {
        return Err(Refusal::MapInvalid);
    };
    let file = walker.walk(&path, Policy::Name)?;
    // A link that is called `a.md` may lead to `/etc/passwd`. The guest checks this again.
    if !is_markdown(file.name.as_encoded_bytes()) {
        return Err(Refusal::NotMarkdown);
    }
    if let Some(roots) = &map.roots
        && !is_in(walker, roots, &path, &file)?
    {
        return Err(Refusal::OutsideRoot);
    }
    let name = file.name.into_string().map_err(|_| Refusal::NotMarkdown)?;
    Ok(Grant {
        directory: file.handle,
        name,
        max_bytes: entry.max_bytes,
    })
}

/// Whether a `file` is in one of the roots. `path` is the file's path as the map has it. A root
/// that is missing, denied, or that others could have put there, contains no file.
///
/// The roots in which the file seems to be, by its path, are tried first. So a root whose file
/// system hangs delays only its own files, and files whose root the map names by a link: such a root
/// is not tried first.
///
/// # Errors
/// That the time is over, or that the system is out of resources, while a root is looked at: the
/// file may be in that root.
fn is_in<F: FileSystem>(
    walker: &Walker<F>,
    roots: &[PathBuf],
    path: &Path,
    file: &Walked<F::Handle>,
) -> Result<bool, Refusal> {
    let mut likely_first: Vec<_> = roots.iter().collect();
    likely_first.sort_by_key(|root| {
        // By whole names: `/notes` is not above `/notes-private/a.md`.
        let is_above = path.starts_with(root) || file.path.starts_with(root);
        // Of several that are above the file, the deepest is the first.
        let depth = if is_above {
            root.components().count()
        } else {
            0
        };
        Reverse(depth)
    });
    for root in likely_first {
        match walker.walk(root, Policy::Directory) {
            Ok(walked) if file.is_beneath(&walked) => return Ok(true),
            Err(error @ WalkError::System(SystemError::OutOfResources | SystemError::Late)) => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Whether a name is a stem and `.md`: `a.md` is, `.md` and `a.MD` are not.
fn is_markdown(name: &[u8]) -> bool {
    name.len() > 3 && name.ends_with(b".md")
}
