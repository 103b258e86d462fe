//! The user's file: where it is, whether it is private, and which folder the map's `roots` need.

use crate::{Unfit, disk::ACCESS_LIST, paste::text_if_printable};
use keyhole_claude::paths::without_links;
use keyhole_walk::{
    System, Walker, groups_in,
    printable::{has_unseen, printable},
};
use rustix::{fs::getxattr, process::geteuid};
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};
use unicode_normalization::UnicodeNormalization as _;

/// The file that setup makes if the user has none.
pub const NEW_FILE_OF_SETUP: &str = "~/private/identifiers.md";

/// What it has in it then.
pub(crate) const TEMPLATE: &str = include_str!("identifiers.md");

const UNUSABLE_PATH: &str =
    "this path cannot be used: write it in full or with ~/, without a character that is not shown";
const UNSEEN_CHARACTER: &str = "a character that nobody sees stands in this path, or follows it, as text from a web page may have it: write it again, or rename what has it";
const PLACEHOLDER: &str =
    "replace FILE by the path of your Markdown file, such as ~/notes/identifiers.md";

/// The user's file.
#[derive(Clone, Debug)]
pub struct File {
    /// As the map names it.
    pub written: String,
    /// Its path.
    pub path: PathBuf,
    /// The same, without links.
    pub(crate) real: PathBuf,
    /// Whether it is to be made.
    pub is_new: bool,
}

impl File {
    /// Looks at the file that the user named, as a shell or a file manager writes it.
    ///
    /// # Errors
    /// If no map can name it, or it is no Markdown file.
    pub fn find(named: &str, home: &Path) -> Result<Self, Unfit> {
        match Self::look_at(named, home) {
            Err(_) if has_unseen(named) || named.ends_with(' ') => Err(UNSEEN_CHARACTER.into()),
            found => found,
        }
    }

    /// The file at the path that the user named. It must be there, but for
    /// [`NEW_FILE_OF_SETUP`], which setup makes.
    ///
    /// # Errors
    /// If it is a folder; if its name is `FILE.md`, as in the examples, or does not end in `.md`;
    /// if the path cannot be written in a map; or if no regular file is there, with another text if
    /// a name on the disk looks like one in the path.
    fn look_at(named: &str, home: &Path) -> Result<Self, Unfit> {
        let path = absolute_path(named, home)?;
        if path.is_dir() {
            return Err("this is a folder: name a Markdown file in it".into());
        }
        // What the user named may be a key in the wrong place. So this check comes before anything
        // prints the path.
        let name = path.file_name().and_then(|name| name.to_str());
        match name.unwrap_or_default() {
            "FILE.md" => return Err(PLACEHOLDER.into()),
            name if name.len() > 3 && name.ends_with(".md") => (),
            _ => return Err("name a Markdown file: its name must end in .md".into()),
        }
        let text = text_if_printable(&path).ok_or(UNUSABLE_PATH)?;
        let written = with_tilde(&path, home).unwrap_or_else(|| text.to_owned());
        let is_new = match fs::metadata(&path) {
            Ok(found) if found.is_file() => false,
            Ok(_) => return Err("this is no regular file".into()),
            // Nothing is there, or it cannot be looked at.
            Err(_) if written == NEW_FILE_OF_SETUP => true,
            Err(_) if has_look_alike(&path) => return Err(LOOKS_ALIKE.into()),
            Err(_) => return Err(Unfit::file(&path, "no file is there; make it first")),
        };
        Ok(Self {
            is_new,
            real: without_links(&path),
            written,
            path,
        })
    }

    /// Whether a path leads to this file, also under another name.
    pub fn is_at(&self, path: &Path) -> bool {
        if path == self.path {
            return true;
        }
        let there = device_and_number(path);
        there.is_some() && there == device_and_number(&self.real)
    }
}

/// By what the system tells the file there from all others. None if it cannot be looked at.
fn device_and_number(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// The absolute path of what the user named: beneath the home, if it begins with `~/` or `$HOME/`;
/// else as it is, or beneath the current folder. A `..` is taken out.
///
/// # Errors
/// If its last name is `FILE`, as in the examples; if it begins with another `~` or `$`, which a
/// shell would replace; or if it is empty, or the current folder is gone.
fn absolute_path(named: &str, home: &Path) -> Result<PathBuf, Unfit> {
    if named == "FILE" || named.ends_with("/FILE") {
        return Err(PLACEHOLDER.into());
    }
    let in_home = named
        .strip_prefix("~/")
        .or_else(|| named.strip_prefix("$HOME/"));
    let full = match in_home {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None if named.starts_with(['~', '$']) => return Err(UNUSABLE_PATH.into()),
        None => PathBuf::from(named),
    };
    let path = std::path::absolute(full).map_err(|_| UNUSABLE_PATH)?;
    // Behind a link, `..` leads elsewhere than the path says, so the system is asked for the
    // folder. A path without `..`, or whose folder is not there (None), stays as it is.
    Ok(without_dots(&path).unwrap_or(path))
}

/// The same file in the folder that the system finds, for a path with `..` in it: behind a link,
/// `..` leads to another folder than the path says. None if the path has no `..`, or if that folder
/// is not there.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    if !parts.any(|part| part == Component::ParentDir) {
        return None;
    }
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

/// What the user typed or dragged to a terminal, without a shell's quotes and backslashes and the
/// blanks around it: of `'my list.md'` and `my\ list.md`, it is `my list.md`. In single quotes, a
/// backslash stays. A quote that is never closed goes as well.
pub fn unquoted(answer: &str) -> String {
    let mut text = String::new();
    // The quotation mark that closes the open quote. None outside of quotes.
    let mut quote = None;
    let mut rest = answer.trim().chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => text.extend(rest.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(end)) if c == end => quote = None,
            (c, _) => text.push(c),
        }
    }
    text
}

/// The path as it begins with `~/`. None if it is not in the home, or is no text.
pub fn with_tilde(path: &Path, home: &Path) -> Option<String> {
    let rest = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{rest}"))
}

/// The path for the user: as it begins with `~/`, if it is in the home.
pub(crate) fn shown(path: &Path, home: &Path) -> String {
    match with_tilde(path, home) {
        Some(in_home) => printable(Path::new(&in_home)),
        None => printable(path),
    }
}

/// The git repository that the path, as it is written, leads through.
pub(crate) fn repository_above(path: &Path) -> Option<PathBuf> {
    let mut folders = path.ancestors().skip(1);
    let found = folders.find(|folder| folder.join(".git").exists())?;
    Some(found.to_owned())
}

/// Rights, as a mode has them for others.
const PASS: u16 = 1;
const READ: u16 = 4;

/// What is said of a path that leads nowhere, if [`has_look_alike`].
pub const LOOKS_ALIKE: &str = "a name on the disk looks like one in this path, and has other characters (another Unicode form, or another blank): rename what has it, or copy that name";

/// Whether the first name of this path that does not exist looks like a name that exists in its
/// folder: `é` in another Unicode form, or another kind of blank. False if all names of the path
/// exist.
pub fn has_look_alike(path: &Path) -> bool {
    let first_missing = path.ancestors().take_while(|at| !at.exists()).last();
    let Some((folder, name)) = first_missing.and_then(|at| at.parent().zip(at.file_name())) else {
        return false;
    };
    let look = look_of(name);
    for other in fs::read_dir(folder).into_iter().flatten().flatten() {
        let other_name = other.file_name();
        if other_name != name && look_of(&other_name) == look {
            return true;
        }
    }
    false
}

/// A name as it looks: letters with their marks, and one kind of blank.
fn look_of(name: &OsStr) -> String {
    name.to_string_lossy().nfkc().collect()
}

/// Whether somebody else than the user and root may read the file: its mode says so, and that of
/// each folder on the way.
pub fn is_open(real: &Path) -> bool {
    let mut folders = real.ancestors().skip(1);
    let mut folders_again = folders.clone();
    if others_may(READ, real)
        && folders.all(|folder| others_may(PASS, folder) || group_may(PASS, folder))
    {
        return true;
    }
    group_may(READ, real) && folders_again.all(|folder| has_any_bit(0o011, folder))
}

/// Whether the file or folder has one of these bits in its mode.
fn has_any_bit(bits: u32, at: &Path) -> bool {
    fs::metadata(at).is_ok_and(|found| found.mode() & bits != 0)
}

/// Whether users other than the owner and the group have the right there.
fn others_may(right: u16, at: &Path) -> bool {
    has_any_bit(right.into(), at)
}

/// Whether the group has the right there, and somebody else may be in it.
fn group_may(right: u16, at: &Path) -> bool {
    has_any_bit(u32::from(right) << 3, at) && only_user_in_groups(right, at) != Some(true)
}

/// Whether nobody but the user and root is in the groups that may have this right on the file or
/// folder `at`: those that its access list gives the right to; or without a list, its own group. A
/// list that cannot be read counts as no list.
///
/// False if somebody else is in one of them, or if nobody can tell. None if `at` cannot be looked
/// at, or if the list is not understood, or gives the right to another user by name.
fn only_user_in_groups(right: u16, at: &Path) -> Option<bool> {
    let own_group = fs::metadata(at).ok()?.gid();
    let user = geteuid().as_raw();
    let mut list = [0; 4096];
    let groups = match getxattr(at, ACCESS_LIST, &mut list[..]) {
        Ok(size) => groups_in(&list[..size], right, own_group, Some(user))?,
        // Without a list, only the mode counts, which is of the own group.
        Err(_) => vec![own_group],
    };
    for group in groups {
        // `Ok(None)` says that nobody else is in the group.
        if Walker::new(System).others_in(group, user) != Ok(None) {
            return Some(false);
        }
    }
    Some(true)
}

/// The folder that `roots` need for a file, as they have it. None if that would be the home, or
/// above.
pub(crate) fn root_of(real: &Path, home: &Path) -> Option<String> {
    let real_home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let folder = real.parent()?;
    if real_home.starts_with(folder) {
        return None;
    }
    let written = with_tilde(folder, home).or_else(|| with_tilde(folder, &real_home));
    written.or_else(|| text_if_printable(folder).map(str::to_owned))
}
