//! The state of a walk: the names that are left, and the directories that it passed,
//! all of them open and trusted.

use crate::{FileSystem, Policy, Stat, SystemError, WalkError, Walked, Walker};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
};

/// The longest chain of directories, in names. PATH_MAX allows 2048 names of one
/// character; the walk keeps a descriptor for each until it ends.
const MAX_DEPTH: usize = 128;

/// Puts the names of `path` before those still to walk, of which the last one is the next. It
/// leaves out empty names and `.`, except at the end: there they say that the name before them is
/// a directory.
pub(crate) fn push_names(names: &mut Vec<OsString>, path: &OsStr) {
    let parts = path.as_bytes().rsplit(|byte| *byte == b'/');
    for (index, name) in parts.enumerate() {
        match name {
            b"" | b"." if index == 0 => names.push(".".into()),
            b"" | b"." => {}
            _ => names.push(OsStr::from_bytes(name).to_owned()),
        }
    }
}

/// An open object on the way.
#[derive(Debug)]
pub(crate) struct Step<H> {
    pub(crate) handle: H,
    pub(crate) stat: Stat,
    /// Its name in the directory where it was found.
    pub(crate) name: OsString,
}

pub(crate) struct PathStack<'a, F: FileSystem> {
    walker: &'a Walker<F>,
    policy: Policy,
    /// Those that lead to the last one. `/` is the first of all.
    above: Vec<Step<F::Handle>>,
    pub(crate) here: Step<F::Handle>,
}

impl<'a, F: FileSystem> PathStack<'a, F> {
    pub(crate) fn from_root(walker: &'a Walker<F>, policy: Policy) -> Result<Self, WalkError> {
        let (handle, stat) = walker.files.root()?;
        // The mount of `/` is trusted: whoever made it owns the system.
        walker.check(&handle, &stat, None, policy, || "/".into())?;
        let name = OsString::from("/");
        Ok(Self {
            walker,
            policy,
            above: Vec::new(),
            here: Step { handle, stat, name },
        })
    }

    /// Enters an open directory of this one, if it is trusted.
    pub(crate) fn enter(&mut self, directory: Step<F::Handle>) -> Result<(), WalkError> {
        self.check_child(&directory)?;
        if self.above.len() == MAX_DEPTH {
            return Err(SystemError::Missing.into());
        }
        self.push(directory);
        Ok(())
    }

    /// Goes to an open object of this directory, which was found to be trusted.
    pub(crate) fn push(&mut self, child: Step<F::Handle>) {
        self.above.push(std::mem::replace(&mut self.here, child));
    }

    /// One directory up: to the one that the walk passed, not to the one that is above
    /// now. `/` is above itself.
    pub(crate) fn back(&mut self) {
        if let Some(above) = self.above.pop() {
            self.here = above;
        }
    }

    pub(crate) fn back_to_root(&mut self) {
        self.above.truncate(1);
        self.back();
    }

    pub(crate) fn check_child(&self, child: &Step<F::Handle>) -> Result<(), WalkError> {
        let Step { handle, stat, name } = child;
        let (around, path) = (Some(&self.here.stat), || self.path().join(name));
        self.walker.check(handle, stat, around, self.policy, path)
    }

    fn path(&self) -> PathBuf {
        let passed = self.above.iter().chain([&self.here]);
        passed.map(|step| &step.name).collect()
    }

    /// Ends the walk here, and with `name` if a file in this directory is only named.
    pub(crate) fn end(self, name: OsString) -> Walked<F::Handle> {
        Walked {
            path: self.path(),
            handle: self.here.handle,
            stat: self.here.stat,
            name,
            above: self.above,
        }
    }
}
