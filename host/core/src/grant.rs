//! The right to read one file. Resolution makes it, and the sandbox confines the guest to it.

use crate::refusal::Refusal;
use keyhole_walk::Handle;
use std::time::Instant;

/// What one call may reach. [`crate::Maps::resolve`] makes it for one entry of the map, and one
/// call uses it up.
#[derive(Clone, Debug)]
pub struct Grant<D = Handle> {
    /// The real file's own directory. It is open, so a later change of its path has no effect.
    pub directory: D,
    /// The real file's name in that directory, which ends in `.md`. The file may be missing, or a
    /// symbolic link, when the guest opens it.
    pub name: String,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
}

/// What runs the guest for a call. If a user's files are read, it is the
/// [`crate::sandbox::Sandbox`]. The benches compare it with one that runs the same guest
/// natively, and the model has one over files in memory.
pub trait Executor: Send + Sync + 'static {
    /// An open directory.
    type Directory;

    /// Asks the guest for `key`. The guest can reach only `grant`. It blocks.
    fn run(
        &self,
        key: &str,
        grant: Option<Grant<Self::Directory>>,
        deadline: Instant,
    ) -> Result<String, Refusal>;

    /// Stops every guest that is past its deadline. The others continue.
    fn interrupt(&self);
}
