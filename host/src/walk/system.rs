//! What the walk asks of the operating system: the one small interface.

use std::{
    ffi::{OsStr, OsString},
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// A file system, as one process sees it.
///
/// A *handle* is a descriptor: what it stands for does not change, whatever
/// becomes of its names. No method follows a link, and none waits for another
/// process to open its end of something. There is a real one for each system,
/// [`super::System`]; tests have a model of one.
pub trait FileSystem {
    /// Something that is held.
    type Handle;

    /// Holds `/`.
    ///
    /// # Errors
    /// [`Fault`].
    fn root(&self) -> Result<Self::Handle, Fault>;

    /// Holds what `name`, a single name, is in this directory, a link itself too.
    /// It need not be readable.
    ///
    /// # Errors
    /// [`Fault`]; never [`Fault::IsLink`].
    fn hold(&self, directory: &Self::Handle, name: &OsStr) -> Result<Self::Handle, Fault>;

    /// What `name` in this directory is, as far as one look tells: what is found there
    /// later may be something else.
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

    /// What a handle says of itself.
    ///
    /// # Errors
    /// [`Fault`].
    fn stat(&self, handle: &Self::Handle) -> Result<Stat, Fault>;

    /// Where the link leads that is held, and stands in `directory` as `name`.
    ///
    /// # Errors
    /// [`Fault`].
    fn read_link(
        &self,
        link: &Self::Handle,
        directory: &Self::Handle,
        name: &OsStr,
    ) -> Result<OsString, Fault>;

    /// What kind of mount a handle is in.
    ///
    /// # Errors
    /// [`Fault`].
    fn mount(&self, handle: &Self::Handle, stat: &Stat) -> Result<Mount, Fault>;

    /// Whether an access control list may let somebody write whom the mode does not
    /// name: not its owner, not its group alone, not all others. True if it cannot be
    /// told.
    ///
    /// # Errors
    /// [`Fault::OutOfResources`] only.
    fn has_hidden_writers(&self, handle: &Self::Handle, stat: &Stat) -> Result<bool, Fault>;

    /// Reads into `bytes`, from `offset`. 0 means the end of the file.
    ///
    /// # Errors
    /// [`Fault`].
    fn read(&self, file: &Self::Handle, bytes: &mut [u8], offset: u64) -> Result<usize, Fault>;

    /// Waits until no write to this file is under way that began before, as far as
    /// the file system offers this. A write sets the file's times when it begins.
    fn settle(&self, file: &Self::Handle);

    /// The user whose rights the process has.
    fn user(&self) -> u32;

    /// The time by which files are stamped.
    fn now(&self) -> SystemTime;

    /// Lets time pass.
    fn pause(&self, time: Duration);

    /// Waits for what another call holds while it asks this file system. Where calls
    /// are no threads, as in tests, they give way to each other here.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        // Whoever panicked while holding it left a whole value behind.
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

/// What a handle says of itself.
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
    /// How many names it has.
    pub names: u64,
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written to. Programs can set it.
    pub modified: Time,
    /// When anything of it was last changed. Only the kernel sets it.
    pub changed: Time,
}

impl Stat {
    /// What tells two objects apart, as long as both are held.
    #[must_use]
    pub const fn id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Whose a mount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Root made it, or the user.
    Ordinary,
    /// Another user made it, and answers for what it says: owners and modes too.
    AnothersOwn,
    /// It keeps no owners: whoever asks is told that all is his own.
    WithoutOwners,
    /// The kernel makes up its content.
    Kernel,
}

/// Why the system did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no such name, or it cannot be one.
    Missing,
    /// The operating system says no.
    Denied,
    /// It is a link, and none is followed.
    IsLink,
    /// It cannot be opened as a file: a socket, say.
    NotAFile,
    /// Another process has it locked for writing.
    Busy,
    /// Too few descriptors, or too little memory.
    OutOfResources,
    /// Anything else.
    Failed(io::ErrorKind),
}
