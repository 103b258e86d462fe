//! Paths as the client compares them with a rule.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The path, and what this path leads to ([`without_links`]). Some clients compare both with a
/// rule, others only the second. The two are equal if the path has no links.
pub fn named_and_real(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), without_links(path)]
}

/// Whether this folder is the home or has the home in it, also if a link leads to the home.
pub(crate) fn holds_home(folder: &Path, home: &Path) -> bool {
    let mut homes = named_and_real(home).into_iter();
    homes.any(|home| home.starts_with(folder))
}

/// The path without links: `/b/x` for `/a/x`, if `/a` is a link to `/b`. Names that do not exist
/// yet are kept, behind the nearest folder that does. The path itself if nothing of it can be
/// looked up.
pub fn without_links(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            // `real.join(rest)` would end in a slash if the rest is empty.
            return real.components().chain(rest.components()).collect();
        }
    }
    path.to_owned()
}
