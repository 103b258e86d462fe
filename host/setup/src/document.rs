//! The document: where it is, whether it is private, and which folder the map's `roots` need.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at the file that the user names, and reads no byte of it"
)]

use crate::{
    map::{Has, Known},
    paste,
};
use keyhole_walk::{System, Walker};
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The file that setup makes if the user has none.
pub const NEW: &str = "~/private/identifiers.md";

/// What it has then.
pub const TEMPLATE: &str = "\
# Home address (high)
12 Example Street, and without the number

# Phone (medium)
+1 555 0100, with any blanks or dashes
";

/// Why a path cannot be a document's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It stands for the user's own.
    #[error("replace FILE by the path of your Markdown file, such as ~/notes/identifiers.md")]
    Placeholder,
    /// Its name is none of a Markdown file.
    #[error(
        "only a file whose name ends in .md is served, and this name, which is not shown here, does not: rename the file"
    )]
    NotMarkdown,
    /// It cannot be written into the map.
    #[error(
        "write the whole path, from /. Only ~/ may be short. A path is UTF-8, without control, direction or invisible characters"
    )]
    OddPath,
    /// There is no such file.
    #[error("nothing is there; make the file, or give the path of another")]
    Missing,
    /// It is a folder or the like.
    #[error("this is no file; add the file's name")]
    NotAFile,
}

/// The document.
#[derive(Clone, Debug)]
pub struct Document {
    /// As the map names it.
    pub written: String,
    /// Its path.
    pub path: PathBuf,
    /// The same, without links.
    pub real: PathBuf,
    /// Whether it is to be made.
    pub is_new: bool,
    /// Its size.
    pub bytes: u64,
    /// Whether others may read it.
    pub is_open: bool,
    /// The git repository that it lies in.
    pub repository: Option<PathBuf>,
}

impl Document {
    /// Looks at the file that the user named.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn find(named: &Path, home: &Path) -> Result<Self, DocumentError> {
        let text = paste::plain(named).ok_or(DocumentError::OddPath)?;
        if named.ends_with("FILE") {
            return Err(DocumentError::Placeholder);
        }
        // The text may be a key in the wrong place, so this check comes before anything
        // prints it.
        if !text.ends_with(".md") {
            return Err(DocumentError::NotMarkdown);
        }
        let path = match text.strip_prefix("~/") {
            Some(rest) => home.join(rest.trim_start_matches('/')),
            None if text.starts_with('~') => return Err(DocumentError::OddPath),
            None => std::path::absolute(named).map_err(|_| DocumentError::OddPath)?,
        };
        let plain = paste::plain(&path).ok_or(DocumentError::OddPath)?;
        let written = short(&path, home).unwrap_or_else(|| plain.to_owned());
        let found = fs::metadata(&path).ok();
        let is_new = found.is_none() && written == NEW;
        match &found {
            None if !is_new => return Err(DocumentError::Missing),
            Some(found) if !found.is_file() => return Err(DocumentError::NotAFile),
            _ => {}
        }
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let above = real.ancestors().skip(1);
        Ok(Self {
            written,
            is_new,
            bytes: found.as_ref().map_or(0, fs::Metadata::len),
            is_open: is_open(&real),
            repository: above
                .map(Path::to_owned)
                .find(|folder| folder.join(".git").exists()),
            path,
            real,
        })
    }
}

/// The path as it begins with `~/`.
pub(crate) fn short(path: &Path, home: &Path) -> Option<String> {
    let rest = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{rest}"))
}

/// Whether somebody else than its owner may read the file: its mode says so, and that of each
/// folder on the way. A group that only the owner is in counts as the owner.
pub fn is_open(real: &Path) -> bool {
    let has = |at: &Path, bit| fs::metadata(at).is_ok_and(|found| found.mode() & bit != 0);
    let may = |bit: u32| {
        let mut above = real.ancestors().skip(1);
        has(real, bit) && above.all(|folder| has(folder, bit >> 2))
    };
    let has_others = || {
        let found = fs::metadata(real).ok();
        let others = found.map(|found| Walker::new(System).others_in(found.gid(), found.uid()));
        others != Some(Ok(None))
    };
    may(0o004) || may(0o040) && has_others()
}

/// The folder that `roots` need for a file. If the file lies in a folder that is mounted, a
/// vault for instance, it is the one above, so that it may be mounted again. None if that would
/// be the home, or above.
pub fn root_of(real: &Path, home: &Path) -> Option<PathBuf> {
    let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let home = &*home;
    let folder = real.parent().filter(|folder| !home.starts_with(folder))?;
    let device = |at: &Path| fs::metadata(at).map(|found| found.dev()).ok();
    let inside = folder.ancestors().take_while(|above| *above != home);
    let is_vault = |at: &&Path| {
        let above = at
            .parent()
            .filter(|above| above.starts_with(home) && *above != home);
        above.is_some_and(|above| device(above).zip(device(at)).is_some_and(|(a, b)| a != b))
    };
    let vault = inside.filter(|_| folder.starts_with(home)).find(is_vault);
    vault
        .and_then(Path::parent)
        .or(Some(folder))
        .map(Path::to_owned)
}

/// A path of the map, made absolute.
pub(crate) fn expand(path: &str, home: &Path, directory: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => directory.join(path),
    }
}

/// Whether a table of the map is for this document.
pub(crate) fn is_of(table: &Known, document: &Document, home: &Path, directory: &Path) -> bool {
    let Some(path) = &table.path else {
        return false;
    };
    let path = expand(path, home, directory);
    path == document.path || fs::canonicalize(path).is_ok_and(|real| real == document.real)
}

/// The folders that a map without `roots` would need for what it has. None if one of them
/// cannot be told.
pub(crate) fn roots_of(has: &Has, home: &Path, directory: &Path) -> Option<Vec<String>> {
    let mut roots = Vec::new();
    for table in &has.tables {
        let Some(path) = &table.path else { continue };
        let real = fs::canonicalize(expand(path, home, directory)).ok()?;
        let root = written(&root_of(&real, home)?, home)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    Some(roots)
}

/// A folder as `roots` have it.
pub(crate) fn written(folder: &Path, home: &Path) -> Option<String> {
    let real_home = fs::canonicalize(home).ok();
    let of_home = real_home.and_then(|real| short(folder, &real));
    short(folder, home)
        .or(of_home)
        .or_else(|| paste::plain(folder).map(str::to_owned))
}

/// Whether one of the map's roots holds this real path.
pub(crate) fn is_in(roots: &[String], real: &Path, home: &Path, directory: &Path) -> bool {
    let real_root = |root: &String| fs::canonicalize(expand(root, home, directory));
    roots
        .iter()
        .any(|root| real_root(root).is_ok_and(|root| real.starts_with(root)))
}
