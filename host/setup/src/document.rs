//! The document: where it is, whether it is private, and which folder the map's `roots` need.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at the file that the user names, and reads no byte of it"
)]

use crate::{
    Door,
    disk::ACCESS_LIST,
    paste,
    recipe::{self, NameError},
    rules::without_links,
};
use keyhole_walk::{System, Walker};
use rustix::fs::getxattr_query;
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The file that setup makes if the user has none.
pub const NEW: &str = "~/private/identifiers.md";

/// What it has then.
pub(crate) const TEMPLATE: &str = "\
# Home address (high)
12 Example Street, and without the number

# Phone (medium)
+1 555 0100, with any blanks or dashes
";

/// The document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// As the map names it.
    pub(crate) written: String,
    /// Its path.
    pub(crate) path: PathBuf,
    /// The same, without links.
    pub(crate) real: PathBuf,
    /// Whether it is to be made.
    pub(crate) is_new: bool,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its device and number, if others may read it, and it is the user's to close.
    pub(crate) open: Option<(u64, u64)>,
    /// The git repository that it lies in.
    pub(crate) repository: Option<PathBuf>,
}

impl Document {
    /// Looks at the file that the user named.
    pub(crate) fn find(named: &Path, door: &Door<'_>) -> Result<Self, NameError> {
        let text = recipe::document(named, Some(&door.home))?;
        let path = door.expand(&text);
        let written = short(&path, &door.home).unwrap_or(text);
        let found = fs::metadata(&path).ok();
        let is_new = found.is_none() && written == NEW;
        match &found {
            None if !is_new => return Err(NameError::Missing),
            Some(found) if found.is_dir() => return Err(NameError::Folder),
            Some(found) if !found.is_file() => return Err(NameError::NotAFile),
            _ => {}
        }
        let real = without_links(&path);
        let above = real.ancestors().skip(1);
        let user = rustix::process::geteuid().as_raw();
        let own = found.as_ref().filter(|found| found.uid() == user);
        let open = own.filter(|_| is_open(&real));
        Ok(Self {
            written,
            is_new,
            bytes: found.as_ref().map_or(0, fs::Metadata::len),
            open: open.map(|found| (found.dev(), found.ino())),
            repository: above
                .map(Path::to_owned)
                .find(|folder| folder.join(".git").exists()),
            path,
            real,
        })
    }
}

/// Whether both are one file, also under two names.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let file = |at| {
        fs::metadata(at)
            .map(|found| (found.dev(), found.ino()))
            .ok()
    };
    file(one).is_some_and(|one| file(other) == Some(one))
}

/// The path as it begins with `~/`.
pub(crate) fn short(path: &Path, home: &Path) -> Option<String> {
    let rest = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{rest}"))
}

/// Whether somebody else than its owner may read the file: its mode says so, and that of each
/// folder on the way. A group that only the owner is in counts as the owner. Where there is an
/// access list, the mode's group is whoever that names.
pub fn is_open(real: &Path) -> bool {
    let has = |at: &Path, bit| fs::metadata(at).is_ok_and(|found| found.mode() & bit != 0);
    let has_list = |at: &Path| getxattr_query(at, ACCESS_LIST).is_ok_and(|size| size > 0);
    let others = |at: &Path, bit| has(at, bit) || has(at, bit << 3) && has_list(at);
    let has_others = || {
        let found = fs::metadata(real).ok();
        let others = found.map(|found| Walker::new(System).others_in(found.gid(), found.uid()));
        others != Some(Ok(None))
    };
    let mut above = real.ancestors().skip(1);
    others(real, 0o004) && above.clone().all(|folder| others(folder, 0o001))
        || has(real, 0o040) && above.all(|folder| has(folder, 0o010)) && has_others()
}

/// The folder that `roots` need for a file. If the file lies in a folder that is mounted, a
/// vault for instance, it is the one above, so that it may be mounted again. None if that would
/// be the home, or above.
pub(crate) fn root_of(real: &Path, home: &Path) -> Option<PathBuf> {
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

impl Door<'_> {
    /// A path of the map, made absolute.
    pub(crate) fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest.trim_start_matches('/')),
            None => self.map.with_file_name(path),
        }
    }

    /// What a path of the map leads to.
    pub(crate) fn real(&self, path: &str) -> Option<PathBuf> {
        fs::canonicalize(self.expand(path)).ok()
    }
}

/// A folder as `roots` have it.
pub(crate) fn written(folder: &Path, home: &Path) -> Option<String> {
    let real_home = fs::canonicalize(home).ok();
    let of_home = real_home.and_then(|real| short(folder, &real));
    short(folder, home)
        .or(of_home)
        .or_else(|| paste::plain(folder).map(str::to_owned))
}
