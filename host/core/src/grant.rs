//! The right to read one file. Resolution makes it, and the sandbox confines the guest to it.

use crate::refusal::Refusal;
use keyhole_walk::Handle;
use std::time::Instant;

/// What one call may reach: one name in one open directory. [`crate::Maps::resolve`] makes it, and
/// the call uses it up.
#[derive(Clone, Debug)]
pub struct Grant<D = Handle> {
    /// The real file's own directory. It is open, so a later change of its path has no effect.
    pub directory: D,
    /// The file's real name in that directory, a stem and `.md`. When it is opened, it may be gone,
    /// or be a link by then.
    pub name: String,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
}

/// A grant, or why there is none.
pub type Granted<D> = Result<Grant<D>, Refusal>;

/// What runs the guest for a call: the [`crate::sandbox::Sandbox`], except in benches and tests.
pub trait Executor: Send + Sync + 'static {
    /// An open directory.
    type Directory;

    /// Asks the guest for the file of `key`, which may be a binding's name, and returns its text.
    /// The guest can reach only `grant`; without one it refuses. This blocks.
    fn run(
        &self,
        key: &str,
        grant: Option<Grant<Self::Directory>>,
        deadline: Instant,
    ) -> Result<String, Refusal>;

    /// Stops every guest whose call is past its deadline. The others continue.
    fn interrupt(&self);
}
