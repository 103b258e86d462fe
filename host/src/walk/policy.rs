//! What a walk demands of the directories on its way, and of its end.

/// What a walk demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) directories: Directories,
    pub(super) last: Last,
    pub(super) groups: bool,
}

/// Which directories must be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directories {
    All,
    AllButTheLast,
    None,
}

/// What the path must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    File,
    Directory,
    Name,
}

impl Policy {
    /// A file that nobody else could have written or placed there.
    pub const TRUSTED_FILE: Self = Self::new(Directories::All, Last::File);
    /// A directory that nobody else could have filled or placed there.
    pub const TRUSTED_DIRECTORY: Self = Self::new(Directories::All, Last::Directory);
    /// A directory that nobody else could have placed there. Others may write in it.
    pub const ROOT: Self = Self::new(Directories::AllButTheLast, Last::Directory);
    /// A name, and the real directory that it is in.
    pub const FOLLOWED: Self = Self::new(Directories::None, Last::Name);
    /// As [`Self::TRUSTED_FILE`], but no group counts as the user. For the files
    /// that say who is in a group.
    pub(super) const GROUP_FILE: Self = Self {
        groups: false,
        ..Self::TRUSTED_FILE
    };

    const fn new(directories: Directories, last: Last) -> Self {
        Self {
            directories,
            last,
            groups: true,
        }
    }
}
