//! `rustix`, on the real file system, where each step is atomic. Before and after each
//! step the scheduler may let others go first.

pub use ::rustix::{io, process};

pub mod fs {
    //! `rustix::fs`.

    use crate::shim::others_first;
    use ::rustix::{fd::AsFd, io::Result, path::Arg};
    use ::std::{ffi::CStr, os::fd::OwnedFd};

    pub use ::rustix::fs::*;

    fn step<T>(step: impl FnOnce() -> T) -> T {
        others_first();
        let done = step();
        others_first();
        done
    }

    pub fn openat(at: impl AsFd, name: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        step(|| ::rustix::fs::openat(at, name, flags, mode))
    }

    pub fn mkdirat(at: impl AsFd, name: impl Arg, mode: Mode) -> Result<()> {
        step(|| ::rustix::fs::mkdirat(at, name, mode))
    }

    pub fn unlinkat(at: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<()> {
        step(|| ::rustix::fs::unlinkat(at, name, flags))
    }

    pub fn statat(at: impl AsFd, name: &CStr, flags: AtFlags) -> Result<Stat> {
        step(|| ::rustix::fs::statat(at, name, flags))
    }
}
