//! The cost of the sandbox. `./x bench` measures whole processes and writes
//! docs/performance.md; `cargo bench -p keyhole-benches` measures inside one process.
//!
//! Both compare Keyhole with itself: the same guest, with the same checks on the same
//! open directory, in the sandbox and without it ([`Native`]). Only the sandbox differs.
//!
//! ```
//! use keyhole_benches::{Native, files::{Files, SMALL_NAME, grant}};
//! use keyhole_core::{Executor, limits::Limits, sandbox::Sandbox};
//! use std::time::{Duration, Instant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = Files::new()?;
//! let grant = || grant(files.home(), SMALL_NAME);
//! let deadline = Instant::now() + Duration::from_secs(60);
//! let sandbox = Sandbox::embedded(Limits::default())?;
//! let text = sandbox.run("k-1", Some(grant()?), deadline).unwrap();
//! assert!(text.starts_with("- Jane Q. Example"));
//! assert_eq!(Native.run("k-1", Some(grant()?), deadline).unwrap(), text);
//! # Ok(())
//! # }
//! ```

pub mod client;
pub mod files;

use cap_std::fs::Dir;
use keyhole_core::{Code, Executor, Grant};
use keyhole_guest::{Grants, LoadError, load};
use keyhole_native::NativeDirectory;
use std::time::Instant;

/// The guest without its sandbox: the fair limit. It makes the same decision with the
/// same checks, on the directory that the sandbox would get.
#[derive(Debug)]
pub struct Native;

/// The one key of a call, as the sandbox's own import answers it.
struct OneKey<'a> {
    key: &'a str,
    grant: Option<keyhole_guest::Grant>,
}

impl Grants for OneKey<'_> {
    fn find(&self, key: &str) -> Option<keyhole_guest::Grant> {
        self.grant.clone().filter(|_| key == self.key)
    }
}

impl Executor for Native {
    type Directory = Dir;

    fn run(&self, key: &str, grant: Option<Grant>, _: Instant) -> Result<String, Code> {
        let (grant, directory) = grant
            .map(
                |Grant {
                     directory,
                     name,
                     max_bytes,
                 }| {
                    let grant = keyhole_guest::Grant { name, max_bytes };
                    (grant, NativeDirectory::try_from(directory))
                },
            )
            .unzip();
        let directory = directory.transpose().map_err(|_| Code::Internal)?;
        let loaded = load(key, &OneKey { key, grant }, directory.as_ref());
        let bytes = loaded.map_err(|refusal| match refusal {
            LoadError::UnknownKey => Code::UnknownKey,
            LoadError::NotMarkdown => Code::NotMarkdown,
            LoadError::OutsideRoot => Code::OutsideRoot,
            LoadError::NotFound => Code::NotFound,
            LoadError::NotAFile => Code::NotAFile,
            LoadError::PermissionDenied => Code::PermissionDenied,
            LoadError::TooLarge => Code::TooLarge,
            LoadError::Changed => Code::Changed,
            LoadError::Internal => Code::Internal,
        })?;
        String::from_utf8(bytes).map_err(|_| Code::NotUtf8)
    }

    /// There is nothing to interrupt: native code runs to its end.
    fn interrupt(&self) {}
}
