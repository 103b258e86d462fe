//! What the walk asks of the operating system: the one small interface.

use std::{
    ffi::{OsStr, OsString},
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// A file system, as one process sees it.
///
/// A *handle* is a descriptor: it always stands for the same object, whatever happens
/// to the object's names. No method follows a link, and none waits for another process
/// to open the other end of a FIFO. There is a real implementation for each system,
/// [`super::System`]; tests have a model.
pub trait FileSystem {
    /// An open object.
    type Handle;

    /// Opens `/`.
    ///
    /// # Errors
    /// [`Fault`].
    fn root(&self) -> Result<Self::Handle, Fault>;

    /// Opens whatever has the single name `name` in this directory, a link itself too.
    /// The object need not be readable.
    ///
    /// # Errors
    /// [`Fault`]; never [`Fault::IsLink`].
    fn hold(&self, directory: &Self::Handle, name: &OsStr) -> Result<Self::Handle, Fault>;

    /// What `name` in this directory is, as far as one look tells: a later look may
    /// find something else.
    ///
    /// # Errors
    /// [`Fault`]; never [`Fault::IsLink`].
    fn kind(&self, directory: &Self::Handle, name: &OsStr) -> Result<Kind, Fault> {
        let held = self.hold(directory, name)?;
        Ok(self.stat(&held)?.kind)
    }

    /// Opens `name` in this directory for reading.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::IsLink`] if it is a link.
    fn open(&self, directory: &Self::Handle, name: &OsStr) -> Result<Self::Handle, Fault>;

    /// What a handle reports.
    ///
    /// # Errors
    /// [`Fault`].
    fn stat(&self, handle: &Self::Handle) -> Result<Stat, Fault>;

    /// The target of the open link, which is in `directory` as `name`.
    ///
    /// # Errors
    /// [`Fault`].
    fn read_link(
        &self,
        link: &Self::Handle,
        directory: &Self::Handle,
        name: &OsStr,
    ) -> Result<OsString, Fault>;

    /// The kind of mount that a handle is in.
    ///
    /// # Errors
    /// [`Fault`].
    fn mount(&self, handle: &Self::Handle, stat: &Stat) -> Result<Mount, Fault>;

    /// Whether an access control list may let somebody write whom the mode does not
    /// cover: not the owner, nor the group alone, nor all others. True if this is
    /// unknown.
    ///
    /// # Errors
    /// [`Fault::OutOfResources`] only.
    fn has_hidden_writers(&self, handle: &Self::Handle, stat: &Stat) -> Result<bool, Fault>;

    /// Reads into `bytes`, from `offset`. 0 means the end of the file.
    ///
    /// # Errors
    /// [`Fault`].
    fn read(&self, file: &Self::Handle, bytes: &mut [u8], offset: u64) -> Result<usize, Fault>;

    /// Waits until every earlier write to this file has ended, as far as the file
    /// system offers this. A write sets the file's times when it begins.
    fn settle(&self, file: &Self::Handle);

    /// The user whose rights the process has.
    fn user(&self) -> u32;

    /// The clock by which the kernel stamps files.
    fn now(&self) -> SystemTime;

    /// Lets time pass.
    fn pause(&self, time: Duration);

    /// Waits for a lock that another call holds while it asks this file system. If
    /// calls are not threads, as in tests, they give way to each other here.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        // A thread that panicked with the lock left a complete value behind.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
}

/// A time of the file system: seconds since 1970, and nanoseconds.
pub type Time = (i64, i64);

/// What a handle reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Permissions, with the set-id and sticky bits: the lower 12 bits.
    pub mode: u32,
    /// The owner.
    pub owner: u32,
    /// The group.
    pub group: u32,
    /// The number of its names (hard links).
    pub names: u64,
    /// The device of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write. Programs can set it.
    pub modified: Time,
    /// The time of the last change of any kind. Only the kernel sets it.
    pub changed: Time,
}

impl Stat {
    /// Identifies the object, as long as it is open.
    #[must_use]
    pub const fn id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Who made a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Root or the user made it.
    Ordinary,
    /// Another user made it, and controls everything that it reports, owners and modes
    /// too.
    AnothersOwn,
    /// It keeps no owners: it tells every user that they own everything.
    WithoutOwners,
    /// The kernel makes up its content.
    Kernel,
}

/// Why the system did not do what we asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No file has this name, or none can have it.
    Missing,
    /// The operating system denies it.
    Denied,
    /// It is a link, and the call follows none.
    IsLink,
    /// It cannot be opened as a file, such as a socket.
    NotAFile,
    /// Another process has it locked for writing.
    Busy,
    /// Too few descriptors, or too little memory.
    OutOfResources,
    /// Anything else.
    Failed(io::ErrorKind),
}
