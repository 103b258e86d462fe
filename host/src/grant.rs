//! Leave to read one file: what resolution makes and the sandbox confines to.

/// A directory of a user's files that is open.
pub(crate) type Directory = cap_std::fs::Dir;

/// What one call may reach. Made by [`crate::resolve`] for one entry of the map,
/// used up by one call. `D` is a directory that is open.
#[derive(Debug)]
pub struct Grant<D = Directory> {
    /// The real file's own directory, open: what its path means by the time it
    /// is read does not matter. It can be listed unless the user may only
    /// search it.
    pub directory: D,
    /// The real file's name in that directory. It ends in `.md`. What it names
    /// was not looked at: it may be gone, or a link, by the time it is opened.
    pub name: String,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
}
