//! The cost of the sandbox. `./x bench` measures whole processes and writes
//! docs/performance.md; `cargo bench -p keyhole-benches` measures inside one process.
//!
//! Both compare Keyhole with itself: the same guest, with the same checks on the same
//! open directory, in the sandbox and without it ([`Native`]). Only the sandbox differs.
//!
//! ```
//! use cap_std::fs::Dir;
//! use keyhole::{Grant, limits::Limits, sandbox::{Executor, Sandbox}};
//! use keyhole_benches::Native;
//! use std::{fs::File, time::{Duration, Instant}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let fresh = tempfile::tempdir()?;
//! # let path = fresh.path();
//! std::fs::write(path.join("note.md"), "# Note\n")?;
//! let grant = || -> std::io::Result<_> {
//!     Ok(Some(Grant { directory: Dir::from_std_file(File::open(path)?), name: "note.md".into(), max_bytes: 64 }))
//! };
//! let deadline = Instant::now() + Duration::from_secs(60);
//! let sandbox = Sandbox::embedded(Limits::default())?;
//! assert_eq!(sandbox.call("k-1", grant()?, deadline).unwrap(), "# Note\n");
//! assert_eq!(Native.call("k-1", grant()?, deadline).unwrap(), "# Note\n");
//! # Ok(())
//! # }
//! ```

use keyhole::{Code, Grant, sandbox::Executor};
use keyhole_guest::{Grant as Leave, Grants, LoadError, load};
use keyhole_native::NativeDirectory;
use std::time::Instant;

/// The guest without its sandbox: the fair limit. It makes the same decision with the
/// same checks, on the directory that the sandbox would get.
#[derive(Debug)]
pub struct Native;

/// The one key of a call, as the sandbox's own import answers it.
struct OneKey<'a> {
    key: &'a str,
    leave: Option<Leave>,
}

impl Grants for OneKey<'_> {
    fn find(&self, key: &str) -> Option<Leave> {
        self.leave.clone().filter(|_| key == self.key)
    }
}

impl Executor for Native {
    fn call(&self, key: &str, grant: Option<Grant>, _: Instant) -> Result<String, Code> {
        let (leave, directory) = grant
            .map(|grant| {
                let leave = Leave {
                    name: grant.name,
                    max_bytes: grant.max_bytes,
                };
                (leave, NativeDirectory::from(grant.directory))
            })
            .unzip();
        load(key, &OneKey { key, leave }, directory.as_ref()).map_err(|refusal| match refusal {
            LoadError::UnknownKey => Code::UnknownKey,
            LoadError::NotMarkdown => Code::NotMarkdown,
            LoadError::OutsideRoot => Code::OutsideRoot,
            LoadError::NotFound => Code::NotFound,
            LoadError::NotAFile => Code::NotAFile,
            LoadError::PermissionDenied => Code::PermissionDenied,
            LoadError::TooLarge => Code::TooLarge,
            LoadError::NotUtf8 => Code::NotUtf8,
            LoadError::Changed => Code::Changed,
            LoadError::Internal => Code::Internal,
        })
    }

    /// There is nothing to interrupt: native code runs to its end.
    fn interrupt(&self) {}
}
