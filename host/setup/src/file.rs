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

/// The text that the new file then has: an example.
pub(crate) const TEMPLATE: &str = include_str!("identifiers.md");

const UNUSABLE_PATH: &str =
    "this path cannot be used: write it in full or with ~/, without a character that is not shown";
const UNSEEN_CHARACTER: &str = "a character that nobody sees stands in this path, or follows it, as text from a web page may have it: write it again, or rename what has it";
const PLACEHOLDER: &str =
    "replace FILE by the path of your Markdown file, such as ~/notes/identifiers.md";

/// The Markdown file that somebody is to get.
#[derive(Clone, Debug)]
pub struct File {
    /// The path as it stands in the map: `~/notes/a.md`, if the file is in the home.
    pub written: String,
    /// The absolute path.
    pub path: PathBuf,
    /// The absolute path without links.
    pub(crate) real: PathBuf,
    /// Whether the file is not there yet: setup makes it.
    pub is_new: bool,
}

impl File {
    /// The file that the user named, such as `~/notes/a.md` or `notes/a.md` (see `look_at`).
    ///
    /// # Errors
    /// Those of `look_at`. But if the name has a character that nobody sees, or ends with a blank,
    /// the error is always that: it is the likely cause.
    pub fn find(named: &str, home: &Path) -> Result<Self, Unfit> {
        match Self::look_at(named, home) {
            Err(_) if has_unseen(named) || named.ends_with(' ') => Err(UNSEEN_CHARACTER.into()),
            found => found,
        }
    }

    /// The file at the path that the user named. The file must be there, unless the path is
    /// [`NEW_FILE_OF_SETUP`] (`~/private/identifiers.md`), which setup makes: then `is_new` is set.
    ///
    /// # Errors
    /// In this order, if
    /// - the path cannot be understood (`absolute_path`);
    /// - it is that of a folder;
    /// - the file's name is `FILE.md`, as in the examples, or is not a name with `.md` at its end;
    /// - the path cannot be written in a map;
    /// - what is there is no regular file, such as a pipe;
    /// - nothing is there, but a name on the disk looks like one in the path ([`LOOKS_ALIKE`]);
    /// - nothing is there, or the system does not let us look.
    fn look_at(named: &str, home: &Path) -> Result<Self, Unfit> {
        let path = absolute_path(named, home)?;
        if path.is_dir() {
            return Err("this is a folder: name a Markdown file in it".into());
        }
        // The user may have typed a key here. So no error prints the path before this check.
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

    /// Whether this path leads to the file: it is the file's own path, or another path of the same
    /// file, as through a link. False if the path is another one and nothing is there.
    pub fn is_at(&self, path: &Path) -> bool {
        if path == self.path {
            return true;
        }
        let there = device_and_number(path);
        there.is_some() && there == device_and_number(&self.real)
    }
}

/// The numbers of the device and of the file there, by which the system tells the file from all
/// others. None if the system does not let us look.
fn device_and_number(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// The absolute path of what the user named:
///
/// - beneath the home, for `~/a.md` and `$HOME/a.md`;
/// - as it is, for `/srv/a.md`;
/// - beneath the current folder, for `a.md`.
///
/// A `..` in the path is taken out, if the folder is there.
///
/// # Errors
/// If the last name is `FILE`, as in the examples; if the text begins with another `~` or `$`, as
/// `~theo/a.md`, which a shell would replace; if the text is empty; or if the current folder is
/// gone.
fn absolute_path(named: &str, home: &Path) -> Result<PathBuf, Unfit> {
    if named == "FILE" || named.ends_with("/FILE") {
        return Err(PLACEHOLDER.into());
    }
    let in_home = named
        .strip_prefix("~/")
        .or_else(|| named.strip_prefix("$HOME/"));
    let full = match in_home {
        Some(below) => home.join(below.trim_start_matches('/')),
        None if named.starts_with(['~', '$']) => return Err(UNUSABLE_PATH.into()),
        None => PathBuf::from(named),
    };
    let path = std::path::absolute(full).map_err(|_| UNUSABLE_PATH)?;
    Ok(without_dots(&path).unwrap_or(path))
}

/// The path without `..`, and with the folder that the system finds: `/a/b/../c.md` becomes
/// `/a/c.md`; but if `/a/b` is a link to `/x/y`, it becomes `/x/c.md`. None if the path has no
/// `..`, or if that folder is not there.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    if !parts.any(|part| part == Component::ParentDir) {
        return None;
    }
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.join(path.file_name()?))
}

/// What the user typed or dragged to a terminal, without a shell's quotes and backslashes, and
/// without blanks around: `my list.md` for both `'my list.md'` and `my\ list.md`. In single quotes,
/// a backslash stays. A quotation mark that is never closed is left out as well.
pub fn unquoted(answer: &str) -> String {
    let mut text = String::new();
    // The quotation mark that closes the open quote. None outside of quotes.
    let mut quote = None;
    let mut chars = answer.trim().chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            // The next character stands for itself.
            ('\\', None | Some('"')) => text.extend(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(end)) if c == end => quote = None,
            (c, _) => text.push(c),
        }
    }
    text
}

/// The path with `~/` in the place of the home: `~/a.md`. None if the path is not in the home, or
/// is not UTF-8.
pub fn with_tilde(path: &Path, home: &Path) -> Option<String> {
    let below = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{below}"))
}

/// The path as the user reads it, with `~/` if it is in the home. If a character of the path would
/// not be shown as itself, words stand in the place of the path.
pub(crate) fn shown(path: &Path, home: &Path) -> String {
    match with_tilde(path, home) {
        Some(in_home) => printable(Path::new(&in_home)),
        None => printable(path),
    }
}

/// The lowest folder above this path that has a `.git` in it. None if there is none. Links in the
/// path are not followed.
pub(crate) fn repository_above(path: &Path) -> Option<PathBuf> {
    let mut folders = path.ancestors().skip(1);
    let found = folders.find(|folder| folder.join(".git").exists())?;
    Some(found.to_owned())
}

/// The right to pass through a folder, as a mode has it for others.
const PASS: u16 = 1;
/// The right to read, as a mode has it for others.
const READ: u16 = 4;

/// What is said of a path that leads nowhere, if [`has_look_alike`] is true for it.
pub const LOOKS_ALIKE: &str = "a name on the disk looks like one in this path, and has other characters (another Unicode form, or another blank): rename what has it, or copy that name";

/// Whether the first name of this path that does not exist looks like another name in the same
/// folder. For `/a/é.md`, that is `é.md` with the `é` as two characters (`e` and an accent); or for
/// a name with a blank, one with another kind of blank. False if the path exists.
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

/// A form of the name that is equal for names which look alike: Unicode's form NFKC, with letters
/// and their accents in one character, and one kind of blank.
fn look_of(name: &OsStr) -> String {
    name.to_string_lossy().nfkc().collect()
}

/// Whether somebody else than the user and root may read the file at this path without links: as
/// one of all others, or as a member of its group. They need the right to read the file, and the
/// right to pass through each folder above.
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

/// Whether users other than the owner and the group have this right on the file or folder.
fn others_may(right: u16, at: &Path) -> bool {
    has_any_bit(right.into(), at)
}

/// Whether the group has this right on the file or folder, and somebody else than the user and root
/// may be in a group that has it.
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
        // Without a list, only the mode counts, which gives rights to one group.
        Err(_) => vec![own_group],
    };
    for group in groups {
        // `Ok(None)` says that nobody else is in the group. All else counts as somebody.
        if Walker::new(System).others_in(group, user) != Ok(None) {
            return Some(false);
        }
    }
    Some(true)
}

/// The folder of the file `real` as the map's `roots` name it: `~/notes` for
/// `/home/theo/notes/a.md`. None if that folder is the home or above the home, neither of which
/// must become a root; or if its path cannot be written in a map.
pub(crate) fn root_of(real: &Path, home: &Path) -> Option<String> {
    let real_home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let folder = real.parent()?;
    if real_home.starts_with(folder) {
        return None;
    }
    let written = with_tilde(folder, home).or_else(|| with_tilde(folder, &real_home));
    written.or_else(|| text_if_printable(folder).map(str::to_owned))
}
