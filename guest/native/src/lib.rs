//! The guest without its sandbox: [`load`] over the real file system, or a model of one.
//!
//! A native twin of the component. It makes the same decision with the same checks, and it
//! opens, judges and reads the file with the host's own code. So any difference between the
//! two is what the sandbox does, or costs. It is for tests and benchmarks; Keyhole itself
//! never reads a user's file natively.
//!
//! [`load`]: keyhole_guest::load
#![forbid(unsafe_code)]

use keyhole_guest::{Directory, File, LoadError, Stat, Time};
use keyhole_walk::{
    FileSystem, GrantedFile, Handle, Kind, Policy, System, SystemError, WalkError, Walker,
};
use std::{cell::RefCell, path::Path};

/// The largest file that is read, 8 MiB: the host's own value. So a huge sparse file does not take
/// its size in memory.
const MAX_READ: u64 = 8 << 20;

/// A directory. Only files in it can be read.
#[derive(Debug)]
pub struct NativeDirectory<F: FileSystem = System> {
    walker: Walker<F>,
    handle: F::Handle,
}

/// A file opened in a [`NativeDirectory`].
pub struct NativeFile<F: FileSystem = System> {
    walker: Walker<F>,
    file: RefCell<GrantedFile<F>>,
}

impl NativeDirectory {
    /// Opens the directory at `path`, as the host's preopen for the component.
    pub fn open(path: &Path) -> Result<Self, WalkError> {
        let directory = Walker::new(System).walk(path, Policy::Directory)?;
        Ok(directory.handle.into())
    }
}

/// Takes a directory that is already open.
impl From<Handle> for NativeDirectory {
    fn from(directory: Handle) -> Self {
        Self::granted(System, directory)
    }
}

impl<F: FileSystem> NativeDirectory<F> {
    /// Takes a directory that is already open in `files`.
    pub const fn granted(files: F, handle: F::Handle) -> Self {
        Self {
            walker: Walker::new(files),
            handle,
        }
    }
}

impl<F: FileSystem + Clone> Directory for NativeDirectory<F> {
    type File = NativeFile<F>;

    /// Whether `name` is a regular file. A link is an error, as in the component.
    fn is_regular(&self, name: &str) -> Result<bool, LoadError> {
        match GrantedFile::kind(&self.walker, &self.handle, name).map_err(refusal)? {
            Kind::Link => Err(LoadError::OutsideRoot),
            kind => Ok(kind == Kind::File),
        }
    }

    fn open(&self, name: &str) -> Result<NativeFile<F>, LoadError> {
        let file =
            GrantedFile::open(&self.walker, &self.handle, name, MAX_READ).map_err(refusal)?;
        Ok(NativeFile {
            walker: self.walker.clone(),
            file: RefCell::new(file),
        })
    }
}

impl<F: FileSystem> File for NativeFile<F> {
    fn stat(&self) -> Result<Stat, LoadError> {
        let look = self.file.borrow_mut().look(&self.walker);
        let look = look.map_err(refusal)?;
        Ok(Stat {
            regular: true,
            size: look.size,
            modified: time(look.modified),
            changed: time(look.changed),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        let read = self.file.borrow().read(&self.walker, len, offset);
        read.map_err(refusal)
    }
}

/// What the component answers to this error. There, the sandbox turns the error into a code
/// (`host/core/src/sandbox/reach.rs`), and the guest turns that code into a [`LoadError`]
/// (`guest/src/component.rs`).
fn refusal(error: impl Into<WalkError>) -> LoadError {
    match error.into() {
        WalkError::System(SystemError::Missing) => LoadError::NotFound,
        WalkError::System(SystemError::Denied) => LoadError::PermissionDenied,
        WalkError::System(SystemError::NotAFile) => LoadError::NotAFile,
        WalkError::System(SystemError::Busy) => LoadError::Changed,
        WalkError::System(SystemError::IsLink) | WalkError::Untrusted(_) => LoadError::OutsideRoot,
        WalkError::System(_) => LoadError::Internal,
    }
}

/// A time in the form that the guest compares. None for a time before 1970, because WASI has no
/// such times.
fn time((seconds, nanoseconds): keyhole_walk::Time) -> Option<Time> {
    Some((seconds.try_into().ok()?, nanoseconds.try_into().ok()?))
}
