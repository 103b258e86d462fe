//! Why it is unknown what would be published.

use keyhole_walk::SystemError;
use rustix::io::Errno;
use std::io;

/// Why it is unknown what would be published, behind a short word that does not change. Nothing of
/// the repository or of git's words is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncollected {
    /// None of the places that are looked at has git.
    #[error("git-missing: git was not found.")]
    GitMissing,
    /// A file of the repository is no regular file or cannot be read, or git cannot read the
    /// repository, or tells what is not understood.
    #[error("repository-unreadable: the repository cannot be read.")]
    Unreadable,
    /// The repository keeps its branches in a format of git's that is not read.
    #[error("reftable: the repository keeps its branches as a reftable, which is not read.")]
    Reftable,
    /// A setting, a variable or a link makes git use files that are not looked at.
    #[error(
        "git-elsewhere: git uses files that are elsewhere, by a setting of the repository (core.worktree, commit.template, core.attributesFile, attr.tree), by a variable such as GIT_DIR, or since .git or .git/config leads away: run git yourself."
    )]
    Elsewhere,
    /// A commit or a file's content is not on this machine, as in a partial clone.
    #[error("object-missing: a commit or the content of a file is not on this machine.")]
    ObjectMissing,
    /// A file may have a `working-tree-encoding` with which its text is not what git stores.
    #[error(
        "encoding-unread: a file has a working-tree-encoding other than UTF-8, UTF-16 or UTF-32, by .gitattributes or .git/info/attributes: look at it yourself."
    )]
    Encoded,
    /// There is more than is read: see `budget.rs`.
    #[error("too-much: there is too much to compare.")]
    TooMuch,
    /// Git did not end in time.
    #[error("too-slow: git did not end in time.")]
    TooSlow,
    /// The folder for git's own files cannot be made.
    #[error("no-scratch: the folder for git's own files cannot be made.")]
    NoScratch,
}

impl From<SystemError> for Uncollected {
    fn from(_: SystemError) -> Self {
        Self::Unreadable
    }
}

impl From<Errno> for Uncollected {
    fn from(_: Errno) -> Self {
        Self::Unreadable
    }
}

impl From<io::Error> for Uncollected {
    fn from(_: io::Error) -> Self {
        Self::Unreadable
    }
}
