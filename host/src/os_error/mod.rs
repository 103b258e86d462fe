//! What an error of the operating system means, whichever system it is.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::is_exhaustion;
#[cfg(windows)]
pub(crate) use windows::is_exhaustion;

/// The kind of an error of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OsErrorKind {
    /// No file has this name, or none can have it.
    Missing,
    /// The operating system denies it.
    Denied,
    /// It is a link.
    Link,
    /// Other processes have it open, or write to it.
    Busy,
    /// It is not a regular file.
    NotAFile,
    /// Too few descriptors, or too little memory.
    OutOfResources,
    /// Anything else that the operating system says.
    Other,
}
