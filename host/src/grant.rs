//! The right to read one file. Resolution makes it, and the sandbox confines the
//! guest to it.

/// An open directory of a user's files.
pub(crate) type Directory = cap_std::fs::Dir;

/// What one call may reach. [`crate::resolve`] makes it for one entry of the map,
/// and one call uses it up. `D` is an open directory.
#[derive(Debug)]
pub struct Grant<D = Directory> {
    /// The real file's own directory. It is open already, so a later change of its
    /// path has no effect. It can be listed, unless the user may only search it.
    pub directory: D,
    /// The real file's name in that directory. It ends in `.md`. Resolution did not
    /// look at the file of this name: it may be missing, or a symbolic link, when
    /// the guest opens it.
    pub name: String,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
}
