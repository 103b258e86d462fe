//! The guest's part of a call: its own code over the one file that the host grants it.

use crate::files::{Files, Handle};
use keyhole_core::{Executor, Grant, Refusal};
use keyhole_guest::load;
use keyhole_native::NativeDirectory;
use std::time::Instant;

/// Runs the guest without its sandbox.
pub(crate) struct Guest(pub(crate) Files);

impl Executor for Guest {
    type Directory = Handle;

    /// For a file that others could change, the guest says `outside-root`; the sandbox would
    /// tell the host the cause.
    fn run(&self, key: &str, grant: Option<Grant<Handle>>, _: Instant) -> Result<String, Refusal> {
        let (directory, grant) = grant.map_or((None, None), |grant| {
            let (name, max_bytes) = (grant.name, grant.max_bytes);
            let granted = keyhole_guest::Grant { name, max_bytes };
            (Some(grant.directory), Some(granted))
        });
        let granted = |directory| NativeDirectory::granted(self.0.clone(), directory);
        let directory = directory.map(granted);
        let found = load(key, |_| grant.clone(), directory.as_ref());
        let bytes = found.map_err(|error| {
            let mut codes = Refusal::ALL.into_iter();
            codes.find(|code| code.as_str() == error.name()).unwrap()
        })?;
        String::from_utf8(bytes).map_err(|_| Refusal::NotUtf8)
    }

    fn interrupt(&self) {}
}
