//! The user's file: where it is, whether it is private, and which folder the map's `roots` need.

use crate::{Unfit, disk::ACCESS_LIST, paste::plain};
use keyhole_claude::paths::without_links;
use keyhole_walk::{
    System, Walker, groups_in,
    printable::{has_unseen, printable},
};
use rustix::{fs::getxattr, process::geteuid};
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

/// The file that setup makes if the user has none.
pub const NEW: &str = "~/private/identifiers.md";

/// What it has then.
pub(crate) const TEMPLATE: &str = include_str!("identifiers.md");

const ODD_PATH: &str =
    "this path cannot be used: write it in full or with ~/, without a character that is not shown";
const UNSEEN: &str = "a character that nobody sees stands in this path, or follows it, as text from a web page may have it: write it again, or rename what has it";
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
        let found = Self::named(named, home);
        let is_unseen = || has_unseen(named) || named.ends_with(' ');
        found.map_err(|why| if is_unseen() { UNSEEN.into() } else { why })
    }

    fn named(named: &str, home: &Path) -> Result<Self, Unfit> {
        let path = expanded(named, home)?;
        if path.is_dir() {
            return Err("this is a folder: name a Markdown file in it".into());
        }
        // It may be a key in the wrong place, so this check comes before anything prints it.
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| name.len() > 3 && name.ends_with(".md"));
        if name.ok_or("name a Markdown file: its name must end in .md")? == "FILE.md" {
            return Err(PLACEHOLDER.into());
        }
        let text = plain(&path).ok_or(ODD_PATH)?;
        let written = short(&path, home).unwrap_or_else(|| text.to_owned());
        let is_new = match fs::metadata(&path) {
            Ok(found) if found.is_file() => false,
            Ok(_) => return Err("this is no regular file".into()),
            Err(_) if written == NEW => true,
            Err(_) => return Err("no file is there; make it first".into()),
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
        let number = |at| fs::metadata(at).map(|found| (found.dev(), found.ino()));
        path == self.path || number(path).is_ok_and(|there| number(&self.real).ok() == Some(there))
    }
}

/// The absolute path of what the user named: under the home, if it begins with `~/` or `$HOME/`.
fn expanded(named: &str, home: &Path) -> Result<PathBuf, Unfit> {
    if named == "FILE" || named.ends_with("/FILE") {
        return Err(PLACEHOLDER.into());
    }
    let in_home = named
        .strip_prefix("~/")
        .or_else(|| named.strip_prefix("$HOME/"));
    let full = match in_home {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None if named.starts_with(['~', '$']) => return Err(ODD_PATH.into()),
        None => PathBuf::from(named),
    };
    let path = std::path::absolute(full).map_err(|_| ODD_PATH)?;
    // Behind a link, `..` is another folder than the name says.
    let has_dots = path.components().any(|part| part == Component::ParentDir);
    let folder = path.parent().filter(|_| has_dots);
    let real = folder.and_then(|folder| Some(folder.canonicalize().ok()?.join(path.file_name()?)));
    Ok(real.unwrap_or(path))
}

/// What the user typed or dragged to a terminal, without a shell's quotes and backslashes.
pub fn typed(answer: &str) -> String {
    let (mut text, mut quote) = (String::new(), None);
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

/// The path as it begins with `~/`.
pub fn short(path: &Path, home: &Path) -> Option<String> {
    let rest = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{rest}"))
}

pub(crate) fn shown(path: &Path, home: &Path) -> String {
    let short = short(path, home).map(PathBuf::from);
    printable(short.as_deref().unwrap_or(path))
}

/// The git repository that the path, as it is written, leads through.
pub(crate) fn repository_above(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors().skip(1);
    let found = above.find(|folder| folder.join(".git").exists());
    found.map(Path::to_owned)
}

/// Whether somebody else than the user and root may read the file: its mode says so, and that of
/// each folder on the way.
pub fn is_open(real: &Path) -> bool {
    let has = |at: &Path, bit| fs::metadata(at).is_ok_and(|found| found.mode() & bit != 0);
    let has_group = |at: &Path, right: u16| {
        has(at, u32::from(right) << 3) && is_group_alone(at, right) != Some(true)
    };
    let lets_pass = |folder: &Path| has(folder, 0o001) || has_group(folder, 1);
    let mut above = real.ancestors().skip(1);
    has(real, 0o004) && above.clone().all(lets_pass)
        || has_group(real, 4) && above.all(|folder| has(folder, 0o011))
}

/// Whether only the user and root are in the group that has this right by the mode, or in all that
/// have it by an access list.
fn is_group_alone(at: &Path, right: u16) -> Option<bool> {
    let (found, user) = (fs::metadata(at).ok()?, geteuid().as_raw());
    let mut list = [0; 4096];
    let groups = match getxattr(at, ACCESS_LIST, &mut list[..]) {
        Ok(size) => groups_in(&list[..size], right, found.gid(), Some(user))?,
        Err(_) => vec![found.gid()],
    };
    let is_own = |group| Walker::new(System).others_in(group, user) == Ok(None);
    Some(groups.into_iter().all(is_own))
}

/// The folder that `roots` need for a file, as they have it. None if that would be the home, or
/// above.
pub(crate) fn root_of(real: &Path, home: &Path) -> Option<String> {
    let real_home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let folder = real.parent();
    let root = folder.filter(|folder| !real_home.starts_with(folder))?;
    let written = short(root, home).or_else(|| short(root, &real_home));
    written.or_else(|| plain(root).map(str::to_owned))
}
