//! What differs from system to system, and is not the walk's: limits, signals, where
//! users keep their configuration.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// What an error of the operating system comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is no such name, or it cannot be one.
    Missing,
    /// The operating system says no.
    Denied,
    /// It is a link.
    Link,
    /// Others have it, or write to it.
    Busy,
    /// It is no regular file.
    NotAFile,
    /// Too few descriptors, or too little memory.
    OutOfResources,
    /// Anything else that the operating system says.
    Other,
}
