//! Paths as the client compares them with a rule.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The path as it is named, and what it leads to: clients compare both with a rule, or the
/// second alone.
pub fn named_and_real(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), without_links(path)]
}

/// What a path leads to; or will, as far as it is not there yet.
pub fn without_links(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            // `real.join(rest)` would end in a slash if the rest is empty.
            return real.components().chain(rest.components()).collect();
        }
    }
    path.to_owned()
}
