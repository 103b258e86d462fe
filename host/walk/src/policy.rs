//! What a walk must lead to.

/// What a walk must lead to. All on the way must be trusted, whatever the policy: see `trust.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A file, open for reading: a map.
    File,
    /// A directory: a root, the folder of tickets.
    Directory,
    /// A name in a directory: a mapped file, which [`crate::GrantedFile`] opens and judges later.
    Name,
    /// A file that says who is in a group. Group-writable is always refused here; else the
    /// file would vouch for itself.
    GroupFile,
}
