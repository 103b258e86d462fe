//! `serve --sealed`: the process gives its own rights away before it serves.
//!
//! The sandbox keeps a guest to one directory. This is the wall behind it: if
//! somebody broke out of the sandbox, or found a mistake in the host, the
//! operating system would still refuse them everything but the mapped files'
//! directories. [`Seal::new`] finds out whether the kernel can do all of it,
//! [`Seal::apply`] does it, and no way leads back.
//!
//! What a sealed process can still do:
//!
//! - open for reading the files in the sealed directories, and in directories
//!   beneath them. Landlock grants whole hierarchies, and a single file would
//!   not do: one that is saved by renaming is another file each time;
//! - ask whether a path exists, and for its size, owner and times. Landlock does
//!   not restrict this;
//! - use what was open before: the standard streams, and whatever else its client
//!   let it inherit;
//! - use memory and processor time, and start threads.
//!
//! Only Linux can do this without a privileged helper. Elsewhere [`Seal::new`]
//! is an error.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::Seal;

/// Why a process cannot be sealed. Nothing is served then: half a seal would be
/// taken for a whole one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not Linux.
    #[error("--sealed needs Linux; serve without it here")]
    Elsewhere,
    /// Landlock is missing, switched off, or too old: what is asked needs its
    /// ABI 4, of Linux 6.7.
    #[error(
        "--sealed needs Linux 6.7 or newer with Landlock switched on, and this system refused it ({0}); serve without --sealed, or on another system"
    )]
    Landlock(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel takes no filter of system calls.
    #[error(
        "--sealed needs a kernel with seccomp filters, and this system refused one ({0}); serve without --sealed, or on another system"
    )]
    Seccomp(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A seal holds for the thread that applies it and for those it starts, so
    /// that there must not be another; or `/proc` is not there to tell.
    #[error("--sealed needs /proc, and a process with a single thread")]
    NotAlone,
}

/// Stands in for the seal where there is none.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Seal(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl Seal {
    /// # Errors
    /// [`SealError::Elsewhere`].
    pub fn new() -> Result<Self, SealError> {
        Err(SealError::Elsewhere)
    }

    /// Cannot be called: there is no seal.
    ///
    /// # Errors
    /// None.
    pub fn apply<D: std::os::fd::AsFd>(
        self,
        _: impl IntoIterator<Item = D>,
    ) -> Result<(), SealError> {
        match self.0 {}
    }
}
