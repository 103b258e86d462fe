//! What a walk must lead to.

/// What a walk must lead to. All on the way must be trusted, whatever the policy: see `trust.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(super) end: End,
    /// Whether a group whose only member is the user counts as the user.
    pub(super) groups: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    File,
    Directory,
    Name,
}

impl Policy {
    /// A file, open for reading: a map.
    pub const FILE: Self = Self::new(End::File, true);
    /// A directory: a root, the folder of tickets.
    pub const DIRECTORY: Self = Self::new(End::Directory, true);
    /// A name in a directory: a mapped file, which [`crate::GrantedFile`] opens and judges later.
    pub const NAME: Self = Self::new(End::Name, true);
    /// A file that says who is in a group. Group-writable is always refused here; else the
    /// file would vouch for itself.
    pub(super) const GROUP_FILE: Self = Self::new(End::File, false);

    const fn new(end: End, groups: bool) -> Self {
        Self { end, groups }
    }
}
