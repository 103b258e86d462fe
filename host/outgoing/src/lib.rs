//! Finds what of a git repository is about to leave the machine: what is staged, changed and new
//! files, and commits that no remote has. It knows nothing of lists.
//!
//! It starts one program, git, and none of the project's: git runs in a `GIT_DIR` of our own,
//! without the project's configuration, hooks and attributes' programs.
#![deny(unsafe_code)]

mod budget;
mod collect;
mod diff;
mod difference;
mod encodings;
mod error;
mod excludes;
mod file;
mod git;
mod hunk;
mod quoted;
mod reach;
mod refs;
mod repository;
mod scratch;
mod settings;
mod taken;

pub use error::Uncollected;
pub use file::text;
pub use hunk::{Hunk, Span};
pub use quoted::unquoted_path;
pub use repository::Repository;

use std::path::{Path, PathBuf};

/// What of one repository a call would publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The words of the call. A changed or new file is taken if its path, or that of a folder
    /// above it, is one of these, relative to the folder of the call. A branch or tag is
    /// sent if its name is one.
    pub words: Vec<String>,
    /// Which files the call takes that no word names.
    pub takes: Takes,
    /// Whether new files are taken also if they are ignored: `git add -f`.
    pub forces: bool,
    /// Whether only what commits have leaves, and nothing that is staged or changed: `git push`.
    pub only_committed: bool,
    /// Whether HEAD's commit is made again (`--amend`), so that its message and its changes leave
    /// too.
    pub amends: bool,
    /// What the call sends, if it sends commits.
    pub sends: Option<Sent>,
}

/// Which changed and new files a call takes. Each kind has the files of the one before it, and
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// Those that a word names. `.` and `*` are such words: they name a folder.
    #[default]
    Named,
    /// Also all changed files, and no new ones: `git commit -a`.
    Changed,
    /// All: `git add -A`.
    All,
}

/// Which commits a call sends: those of each branch and tag that is one of its words, mostly those
/// of HEAD, and others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Where the commits go. What is there already counts as published.
    pub remote: Remote,
    /// What the call sends besides HEAD and what its words name.
    pub extra: Extra,
    /// The names of the branches and tags of which the push sends no others: `v1` of `git push
    /// origin v1`. If each is there, HEAD is not sent. Empty if the push may send HEAD.
    pub only: Vec<String>,
}

/// What a call sends besides HEAD and what its words name. Each kind has what the one before it
/// has, and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extra {
    /// Nothing.
    #[default]
    Nothing,
    /// Each tag: `git push --tags`. With `--follow-tags`, some of them.
    Tags,
    /// Each branch and tag: `git push --all`.
    Branches,
    /// Each branch, tag and other ref, but those of remotes: perhaps, by git's settings.
    All,
}

/// Where a call sends commits. What is there already counts as published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Remote {
    /// Perhaps any remote, as for `keyhole scan`: what any remote has counts as published.
    #[default]
    Any,
    /// The remote that git takes for HEAD's branch if the call names none, as with `git push`. What
    /// a remote called `upstream` has counts, too.
    Default,
    /// The remote that the call names, as with `git push origin`. What `upstream` has counts, too.
    /// An address is the name of no remote: then nothing counts.
    Named(String),
    /// Nobody knows, as with `git push "$R"`: nothing counts as published.
    Unknown,
}

/// What would be published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Each text with its place, in the order in which git tells them.
    pub passages: Vec<Passage>,
    /// How many files add something that is staged, that is changed beside that, or that is new.
    pub staged: usize,
    /// See `staged`.
    pub changed: usize,
    /// See `staged`.
    pub new: usize,
    /// How many commits no remote has.
    pub commits: usize,
}

/// A text that would be published, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands.
    pub place: Place,
    /// The text. Of added lines, all that follow one another.
    pub text: String,
}

impl Passage {
    /// The passage of a path, which is published as a name.
    pub fn of_path(path: &Path) -> Self {
        Self {
            place: Place::Path(path.to_owned()),
            text: path.to_string_lossy().into_owned(),
        }
    }

    /// The passage of lines of a file, of which the first has the number `first`, from 1. `commit`
    /// is the short name of the commit that adds them, or None if none does yet.
    pub(crate) fn of_lines(path: &Path, first: usize, commit: Option<&str>, lines: &[u8]) -> Self {
        Self {
            place: Place::Lines {
                path: path.to_owned(),
                first,
                commit: commit.map(str::to_owned),
            },
            text: file::text(lines),
        }
    }
}

/// Where a text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Added lines of a file, staged or changed, or of one commit.
    Lines {
        /// The file, relative to the repository's top.
        path: PathBuf,
        /// The number of the first line, from 1.
        first: usize,
        /// The commit's name, seven digits, if it is a commit's.
        commit: Option<String>,
    },
    /// The message of a commit, by the first seven digits of its name.
    Message(String),
    /// The message of a tag.
    TagMessage(String),
    /// The name of a file itself.
    Path(PathBuf),
    /// The name of a branch or tag.
    Branch(String),
}
