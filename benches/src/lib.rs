//! The cost of the sandbox. `./x bench` compares Keyhole with other servers, and with
//! itself: the same guest, with the same checks on the same open directory, in the sandbox
//! and without it ([`Native`]). Only the sandbox differs.

pub mod client;
pub mod files;

use keyhole_core::{Executor, Grant, Refusal};
use keyhole_guest::load;
use keyhole_native::NativeDirectory;
use keyhole_walk::Handle;
use std::time::{Duration, Instant};

/// A time in microseconds, with its fractions.
pub fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The guest without its sandbox: the fair limit. It makes the same decision with the
/// same checks, on the directory that the sandbox would get. Only refusals are not the same.
#[derive(Debug)]
pub struct Native;

impl Executor for Native {
    type Directory = Handle;

    fn run(&self, key: &str, grant: Option<Grant>, _: Instant) -> Result<String, Refusal> {
        let Grant {
            directory,
            name,
            max_bytes,
        } = grant.ok_or(Refusal::UnknownKey)?;
        let directory = NativeDirectory::from(directory);
        let granted = keyhole_guest::Grant { name, max_bytes };
        // As the sandbox's own import answers.
        let find = |asked: &str| (asked == key).then(|| granted.clone());
        let bytes = load(key, find, Some(&directory)).map_err(|_| Refusal::Internal)?;
        String::from_utf8(bytes).map_err(|_| Refusal::NotUtf8)
    }

    /// There is nothing to interrupt: native code runs to its end.
    fn interrupt(&self) {}
}
