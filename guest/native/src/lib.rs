//! The guest without its sandbox: [`load`] over the real file system.
//!
//! A native twin of the component. It makes the same decision with the same checks, and
//! turns the file system's refusals into the same errors. So any difference between the
//! two is what the sandbox does, or costs. It is for tests and benchmarks; Keyhole itself
//! never reads a user's file natively.
//!
//! ```
//! use keyhole_guest::{Grant, Grants, load};
//! use keyhole_native::NativeDirectory;
//!
//! struct Map;
//! impl Grants for Map {
//!     fn find(&self, key: &str) -> Option<Grant> {
//!         (key == "k-1").then(|| Grant { name: "note.md".into(), max_bytes: 64 })
//!     }
//! }
//!
//! # let fresh = tempfile::tempdir()?;
//! # let path = fresh.path();
//! std::fs::write(path.join("note.md"), "# Note\n")?;
//! let directory = NativeDirectory::open(path)?;
//! assert_eq!(load("k-1", &Map, Some(&directory)).unwrap(), "# Note\n");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`load`]: keyhole_guest::load
// On Windows, the host's own calls to the system are part of it.
#![cfg_attr(not(windows), forbid(unsafe_code))]

mod fault;
/// The host's own module, so that this opens, waits for and reads a file as the host does.
#[path = "../../../host/src/sandbox/granted.rs"]
mod granted;
#[path = "../../../host/src/settle.rs"]
mod settle;
#[cfg(windows)]
mod walk;

use cap_std::{ambient_authority, fs::Dir};
use fault::fault;
use granted::{GrantedFile, Look, Patience};
use keyhole_guest::{Directory, Fault, File, Stat, Time};
use std::{
    cell::RefCell,
    io,
    path::Path,
    time::{Duration, Instant},
};

/// The largest file that is read at once: the sandbox's own value. A huge sparse file
/// does not take its size in memory.
pub const MAX_READ: u64 = 8 << 20;

/// How long a call may take: the host's own value.
const DEADLINE: Duration = Duration::from_secs(5);

/// A directory. Only files in it can be read.
#[derive(Debug)]
pub struct NativeDirectory(Dir);

/// A file opened in a [`NativeDirectory`].
#[derive(Debug)]
pub struct NativeFile(RefCell<(GrantedFile, Patience)>);

impl NativeDirectory {
    /// Opens the directory at `path`, as the host's preopen for the component. `path` itself
    /// is resolved like any path, following links.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }
}

/// Takes a directory that is already open.
impl From<Dir> for NativeDirectory {
    fn from(directory: Dir) -> Self {
        Self(directory)
    }
}

impl Directory for NativeDirectory {
    type File = NativeFile;

    fn is_regular(&self, name: &str) -> Result<bool, Fault> {
        let kind = granted::kind(&self.0, name).map_err(fault)?;
        if kind.is_symlink() {
            return Err(Fault::Escapes);
        }
        Ok(kind.is_file())
    }

    fn open(&self, name: &str) -> Result<NativeFile, Fault> {
        let mut patience = Patience::new(Instant::now() + DEADLINE);
        let file = GrantedFile::open(&self.0, name, MAX_READ, &mut patience).map_err(fault)?;
        Ok(NativeFile(RefCell::new((file, patience))))
    }
}

impl File for NativeFile {
    fn stat(&self) -> Result<Stat, Fault> {
        let (file, patience) = &mut *self.0.borrow_mut();
        let Look {
            size,
            modified,
            changed,
        } = file.look(patience).map_err(fault)?;
        let told =
            |(seconds, nanoseconds)| time(seconds, nanoseconds).filter(|_| file.is_reliable());
        Ok(Stat {
            regular: true,
            size,
            modified: told(modified),
            changed: told((changed.seconds, changed.nanoseconds)),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
        self.0.borrow().0.read(len, offset).map_err(fault)
    }
}

/// None before 1970, because the component's clock cannot express that either.
fn time(seconds: i64, nanoseconds: i64) -> Option<Time> {
    Some((seconds.try_into().ok()?, nanoseconds.try_into().ok()?))
}
