//! The guest without its sandbox: [`load`] over the real file system.
//!
//! A native twin of the component. It makes the same decision with the same
//! checks, and the file system's refusals come out as the same errors, so a
//! difference between the two is what the sandbox does, or costs. It is for
//! tests and benchmarks; Keyhole itself never reads a user's file natively.
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
#![forbid(unsafe_code)]

mod fault;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, FileExt, FileType, Metadata, OpenOptions},
};
use fault::fault;
use keyhole_guest::{Directory, Fault, File, Stat, Time};
use std::{io, path::Path, time::UNIX_EPOCH};

/// The most bytes that one read allocates for, so that a huge sparse file does
/// not take its size in memory at once. Large enough that any file Keyhole is
/// made for takes one read.
pub const MAX_READ: usize = 8 * 1024 * 1024;

/// A directory that can be read beneath, and nowhere else.
#[derive(Debug)]
pub struct NativeDirectory(Dir);

/// A file opened in a [`NativeDirectory`].
#[derive(Debug)]
pub struct NativeFile(cap_std::fs::File);

impl NativeDirectory {
    /// Opens the directory at `path`: what the host's preopen is to the
    /// component. `path` itself is resolved as any path, links included.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }
}

/// A directory that is open already.
impl From<Dir> for NativeDirectory {
    fn from(directory: Dir) -> Self {
        Self(directory)
    }
}

impl Directory for NativeDirectory {
    type File = NativeFile;

    fn is_regular(&self, name: &str) -> Result<bool, Fault> {
        let kind = self.0.symlink_metadata(name).map_err(fault)?.file_type();
        if kind.is_symlink() {
            return Err(Fault::Escapes);
        }
        Ok(kind == FileType::file())
    }

    fn open(&self, name: &str) -> Result<NativeFile, Fault> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = self.0.open_with(name, &options).map_err(fault)?;
        Ok(NativeFile(file))
    }
}

impl File for NativeFile {
    fn stat(&self) -> Result<Stat, Fault> {
        let metadata = self.0.metadata().map_err(fault)?;
        Ok(Stat {
            regular: metadata.is_file(),
            size: metadata.len(),
            modified: modified(&metadata),
            changed: changed(&metadata),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
        let len = usize::try_from(len).unwrap_or(MAX_READ).min(MAX_READ);
        let mut bytes = vec![0; len];
        let got = self.0.read_at(&mut bytes, offset).map_err(fault)?;
        bytes.truncate(got);
        Ok(bytes)
    }
}

/// None before 1970, which the component's clock cannot tell either.
fn modified(metadata: &Metadata) -> Option<Time> {
    let time = metadata.modified().ok()?.into_std();
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some((since.as_secs(), since.subsec_nanos()))
}

fn changed(metadata: &Metadata) -> Option<Time> {
    use cap_std::fs::MetadataExt as _;
    let nanoseconds = metadata.ctime_nsec().try_into().ok()?;
    Some((metadata.ctime().try_into().ok()?, nanoseconds))
}
