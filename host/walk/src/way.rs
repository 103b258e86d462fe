//! The state of a walk: the names that are left, and the directories that the walk passed,
//! all of them open and trusted.

use crate::{
    error::{Result, SystemError, WalkError},
    system::{FileSystem, Kind, Stat},
    walker::{Policy, Walker},
};
use std::{
    ffi::{OsStr, OsString},
    mem,
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
};

/// The longest chain of directories, in names. PATH_MAX allows 2048 names of one
/// character; the walk keeps a descriptor for each until it ends.
const MAX_DEPTH: usize = 128;

/// Puts the names of `path` onto the stack `names`, whose last element is the next name to walk.
/// With `c` on the stack, `a//b` makes it `c`, `b`, `a`.
///
/// Empty names and `.` are left out, except at the end of `path`. There, as in `a/` and `a/.`, a
/// `.` stays, so that the walk does not take `a` for the last name, which may be a file.
pub(crate) fn push_names(names: &mut Vec<OsString>, path: &OsStr) {
    let from_the_end = path.as_bytes().rsplit(|byte| *byte == b'/');
    for (index, name) in from_the_end.enumerate() {
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
    /// What `handle` reported when it was opened.
    pub(crate) stat: Stat,
    /// Its name in the directory where it was found.
    pub(crate) name: OsString,
}

/// Where a walk is, and the directories through which it came there. All of these were found to be
/// trusted.
pub(crate) struct PathStack<'a, F: FileSystem> {
    walker: &'a Walker<F>,
    policy: Policy,
    /// The directories from `/` to the one that `here` is in.
    above: Vec<Step<F::Handle>>,
    /// The directory in which the next name is looked up; at the end, perhaps the file.
    here: Step<F::Handle>,
}

impl<'a, F: FileSystem> PathStack<'a, F> {
    /// A walk that is at `/`. Opens `/`, and checks that it is trusted.
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

    /// What `name` in `here` is, as far as one look tells: a later look may find something else.
    pub(crate) fn kind(&self, name: &OsStr) -> Result<Kind> {
        self.walker.files.kind(&self.here.handle, name)
    }

    /// Opens `name` in `here`, whatever it is, but not for reading. What is returned is not judged
    /// yet.
    pub(crate) fn hold(&self, name: OsString) -> Result<Step<F::Handle>> {
        let (handle, stat) = self.walker.files.hold(&self.here.handle, &name)?;
        Ok(Step { handle, stat, name })
    }

    /// Opens the file `name` in `here` for reading. What is returned is not judged yet. None if
    /// `name` is a link.
    ///
    /// # Errors
    /// [`SystemError::NotAFile`] if `name` is a directory, a device or the like;
    /// [`SystemError::Missing`] if there is no such name; or what else the system reports.
    pub(crate) fn open(&self, name: &OsStr) -> Result<Option<Step<F::Handle>>> {
        let (handle, stat) = match self.walker.files.open(&self.here.handle, name) {
            Err(SystemError::IsLink) => return Ok(None),
            opened => opened?,
        };
        if stat.kind != Kind::File {
            return Err(SystemError::NotAFile);
        }
        Ok(Some(Step {
            handle,
            stat,
            name: name.to_owned(),
        }))
    }

    /// Checks that `child`, an open object in `here`, is trusted.
    ///
    /// # Errors
    /// [`WalkError::Untrusted`] if the object is not trusted; [`WalkError::System`] if that cannot
    /// be found out.
    pub(crate) fn check_child(&self, child: &Step<F::Handle>) -> Result<(), WalkError> {
        self.walker.check(
            &child.handle,
            &child.stat,
            Some(&self.here.stat),
            self.policy,
            || self.path().join(&child.name),
        )
    }

    /// Follows an open link in `here`, which was found to be trusted: puts the names of its target
    /// onto the stack `names`, to be walked next. If the target is absolute, as `/b/c`, the walk
    /// goes back to `/` first.
    ///
    /// # Errors
    /// [`SystemError::Missing`] for an empty target, or what the system reports.
    pub(crate) fn follow(
        &mut self,
        link: &Step<F::Handle>,
        names: &mut Vec<OsString>,
    ) -> Result<()> {
        let directory = &self.here.handle;
        let files = &self.walker.files;
        let target = files.read_link(&link.handle, directory, &link.name)?;
        if target.is_empty() {
            return Err(SystemError::Missing);
        }
        if target.as_encoded_bytes().starts_with(b"/") {
            self.back_to_root();
        }
        push_names(names, &target);
        Ok(())
    }

    /// Goes into an open directory in `here`, which was found to be trusted.
    ///
    /// # Errors
    /// [`SystemError::Missing`] for a directory more than 128 names below `/` ([`MAX_DEPTH`]).
    pub(crate) fn enter(&mut self, directory: Step<F::Handle>) -> Result<()> {
        if self.above.len() == MAX_DEPTH {
            return Err(SystemError::Missing);
        }
        self.push(directory);
        Ok(())
    }

    /// Makes `child` the new `here`, below the old one.
    fn push(&mut self, child: Step<F::Handle>) {
        let directory = mem::replace(&mut self.here, child);
        self.above.push(directory);
    }

    /// One directory up: to the directory through which the walk came, even if `here` has been
    /// moved to another one. At `/`, this does nothing.
    pub(crate) fn back(&mut self) {
        if let Some(directory) = self.above.pop() {
            self.here = directory;
        }
    }

    /// Goes back to `/`.
    fn back_to_root(&mut self) {
        // The first directory is `/`.
        self.above.truncate(1);
        self.back();
    }

    /// The real path of `here`.
    fn path(&self) -> PathBuf {
        let mut path = PathBuf::new();
        for step in &self.above {
            path.push(&step.name);
        }
        path.join(&self.here.name)
    }

    /// Ends the walk at the directory `here`.
    pub(crate) fn end(self) -> Walked<F::Handle> {
        self.end_with(OsString::new())
    }

    /// Ends the walk at an open file in `here`, which was found to be trusted.
    pub(crate) fn end_at(mut self, file: Step<F::Handle>) -> Walked<F::Handle> {
        self.push(file);
        self.end()
    }

    /// Ends the walk at the directory `here`, with the name of something in it that was not opened.
    /// An empty name means `here` itself.
    pub(crate) fn end_with(self, name: OsString) -> Walked<F::Handle> {
        Walked {
            path: self.path(),
            handle: self.here.handle,
            stat: self.here.stat,
            name,
            above: self.above,
        }
    }
}

/// The end of a walk.
#[derive(Debug)]
pub struct Walked<H> {
    /// The file, open for reading; or the directory. For [`Policy::Name`], the
    /// directory that `name` is in.
    pub handle: H,
    /// What `handle` reported when it was judged.
    pub stat: Stat,
    /// For [`Policy::Name`], the name; it is not a link, as far as one look tells. Otherwise empty.
    pub name: OsString,
    /// The real path of `handle`, as it was then.
    pub path: PathBuf,
    /// The directories that the real path passes before `handle`. They are still open, so nothing
    /// else can get their numbers.
    above: Vec<Step<H>>,
}

impl<H> Walked<H> {
    /// Whether the walk ended at `directory`, or below it: `/a/b/c.md` is beneath `/a`, and `/ab`
    /// is not. Directories are compared by the device and inode of open descriptors, never by name.
    pub fn is_beneath(&self, directory: &Self) -> bool {
        let wanted = directory.stat.id();
        for step in &self.above {
            if step.stat.id() == wanted {
                return true;
            }
        }
        self.stat.id() == wanted
    }
}
