//! Which changed and new files a call takes.

use crate::{Takes, Uncollected, Wanted, budget::Budget};
use keyhole_walk::normal;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The characters of which one makes a word a pattern.
const PATTERN_CHARACTERS: [char; 3] = ['*', '?', '['];

/// Those of them that names of folders do not have: a folder may be called `[id]`.
const SURE_CHARACTERS: [char; 2] = ['*', '?'];

/// The changed and new files that a call takes.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Which files it takes that no word names.
    takes: Takes,
    /// It takes the files with one of these paths, and those below one, relative to the top.
    paths: Vec<PathBuf>,
    /// Whether ignored files are taken, too.
    pub(crate) forces: bool,
}

impl Taken {
    /// What a call in `folder` takes of the checkout at `top`: each file or folder of the checkout
    /// that one of the call's words names. For a pattern such as `src/*.rs`, this is the folder
    /// before it, `src`; but `app/[id]/x` is the file of this name, if it is there. A word that
    /// names nothing from `folder` on counts from `top` on, since the call may go there, as by
    /// `cd "$(git rev-parse --show-toplevel)"`. A word that names nothing there either, or
    /// something outside the checkout, takes nothing.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if a folder cannot be looked up; [`Uncollected::TooSlow`].
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    pub(crate) fn of(
        wanted: &Wanted,
        folder: &Path,
        top: &Path,
        budget: &Budget,
    ) -> Result<Self, Uncollected> {
        let here = fs::canonicalize(folder)?;
        let mut paths = Vec::new();
        for word in &wanted.words {
            budget.time_left()?;
            let from_folder = first_there(&here, word);
            let Some(typed) = from_folder.or_else(|| first_there(top, word)) else {
                continue;
            };
            // A folder of the path may be a link. `top` has none, so links are followed, but for
            // the last name: git takes a link itself.
            let path = match (typed.parent(), typed.file_name()) {
                (Some(folder), Some(name)) => fs::canonicalize(folder)?.join(name),
                _ => typed,
            };
            if let Ok(relative) = path.strip_prefix(top) {
                paths.push(relative.to_owned());
            }
        }
        Ok(Self {
            takes: wanted.takes,
            paths,
            forces: wanted.forces,
        })
    }

    /// Whether it takes nothing: no word names a file or folder that is there, and it takes none
    /// besides.
    pub(crate) fn is_nothing(&self) -> bool {
        self.takes == Takes::Named && self.paths.is_empty()
    }

    /// Whether it takes the changed file of this path, relative to the top.
    pub(crate) fn takes_changed(&self, file: &Path) -> bool {
        self.takes >= Takes::Changed || self.names(file)
    }

    /// Whether it takes the new file of this path, relative to the top.
    pub(crate) fn takes_new(&self, file: &Path) -> bool {
        self.takes == Takes::All || self.names(file)
    }

    /// Whether a word names this file, or a folder above it: the word `src` names `src/a.rs`, and
    /// not `src2/a.rs`.
    fn names(&self, file: &Path) -> bool {
        self.paths.iter().any(|path| file.starts_with(path))
    }
}

/// The path in the folder `here` of what the word names, without `.` and `..`: with `*` or `?` in
/// it, the folder before these; otherwise the word as it is; or if that is not there, the folder
/// before its first `[`. None if none of these is there, or if the word is empty.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn first_there(here: &Path, word: &str) -> Option<PathBuf> {
    for characters in [&SURE_CHARACTERS[..], &PATTERN_CHARACTERS] {
        let path = normal(&here.join(fixed_part(word, characters)));
        if !word.is_empty() && fs::symlink_metadata(&path).is_ok() {
            return Some(path);
        }
    }
    None
}

/// The folder in which a pattern begins, which has one of these characters: `src` of `src/*.rs`,
/// `my docs` of `my docs/*.md`, and the empty path of `*.rs`. A word that is no pattern stays as it
/// is, such as `src`. A word with a blank behind the folder is a message, such as `docs: *`, and
/// stays as it is, too.
fn fixed_part<'w>(word: &'w str, characters: &[char]) -> &'w str {
    let Some(start) = word.find(characters) else {
        return word;
    };
    let before = word.get(..start).unwrap_or_default();
    let (folder, pattern) = match before.rfind('/') {
        Some(slash) => word.split_at(slash),
        None => ("", word),
    };
    if pattern.contains(char::is_whitespace) {
        return word;
    }
    folder
}
