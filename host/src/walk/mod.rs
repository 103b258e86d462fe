//! The one place where the host turns a path into something that is open.
//!
//! A path is only a wish: between two look-ups of one name, whoever may write to
//! a directory on the way can put something else there. So a path is walked once,
//! from `/`, one name at a time, and each step starts from the descriptor of the
//! step before. What is judged is always the descriptor that the next step starts
//! from, or that is read in the end. The kernel follows no link for us.
//!
//! One walk serves all; what it demands on the way is a value, the [`Policy`]:
//!
//! | policy | used for | the directories on the way | the links on the way | the object |
//! |---|---|---|---|---|
//! | [`Policy::TRUSTED_FILE`] | the map, a binding's key file | all trusted | trusted | a trusted file |
//! | [`Policy::TRUSTED_DIRECTORY`] | the plugin's data folder | all trusted | trusted | a trusted directory |
//! | [`Policy::ROOT`] | a root of the map | all above it trusted | trusted | any directory |
//! | [`Policy::FOLLOWED`] | a mapped file | any | trusted | any name; it is opened later, beneath the directory that the walk ended in |
//!
//! *Trusted* means that nobody but the user and root could have changed it: see
//! `trust.rs`. A link is trusted if the user or root made
//! it, and it stands in a trusted directory: else somebody could move another of
//! the user's links into its place.
//!
//! Kernel file systems, such as procfs, are no place for any of these: their files
//! are not what somebody wrote, and belong to root whatever they say.
//!
//! The walk knows the system only through [`FileSystem`], so that tests can run it
//! over a model in which an attacker moves between any two steps.

mod group;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod rest;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod trust;
#[cfg(unix)]
mod unix;
mod way;
#[cfg(windows)]
pub(crate) mod windows;
#[cfg(all(test, unix))]
mod windows {
    //! What can be tried on other systems too.
    #![allow(dead_code, reason = "the rest needs Windows")]
    pub(super) mod names;
    pub(super) mod reparse;
    pub(super) mod security;
}

#[cfg(target_os = "linux")]
pub use linux::System;
#[cfg(target_os = "macos")]
pub use macos::System;
pub use rest::{LOOKS, QUIET};
pub use system::{Fault, FileSystem, Kind, Mount, Stat, Time};
pub use trust::{Distrust, Why};
#[cfg(unix)]
use unix as paths;
#[cfg(unix)]
pub(crate) use unix::into_file;
pub use way::Trail;
#[cfg(windows)]
pub use windows::System;
#[cfg(windows)]
pub(crate) use windows::into_file;
#[cfg(windows)]
use windows::paths;

use std::{ffi::OsString, path::Path};
use way::{Names, Step, Way};

/// As many links in a row as Linux follows: see path_resolution(7).
const MAX_LINKS: usize = 40;

/// How often the last name may turn from a link into something else and back
/// while it is looked at. In good faith, a name is replaced once.
const ATTEMPTS: usize = 3;

/// What a walk demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    directories: Directories,
    last: Last,
    groups: bool,
}

/// Which directories must be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directories {
    All,
    AllButTheLast,
    None,
}

/// What the path has to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    File,
    Directory,
    Name,
}

impl Policy {
    /// A file that nobody else could have written or put there.
    pub const TRUSTED_FILE: Self = Self::new(Directories::All, Last::File);
    /// A directory that nobody else could have filled or put there.
    pub const TRUSTED_DIRECTORY: Self = Self::new(Directories::All, Last::Directory);
    /// A directory that nobody else could have put there. Others may write in it.
    pub const ROOT: Self = Self::new(Directories::AllButTheLast, Last::Directory);
    /// A name, and the directory that it really stands in.
    pub const FOLLOWED: Self = Self::new(Directories::None, Last::Name);
    /// As [`Self::TRUSTED_FILE`], but no group counts as the user. For the files
    /// that say who is in a group.
    const GROUP_FILE: Self = Self {
        groups: false,
        ..Self::TRUSTED_FILE
    };

    const fn new(directories: Directories, last: Last) -> Self {
        Self {
            directories,
            last,
            groups: true,
        }
    }
}

/// Why a walk did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// Nothing has this name, or a file stands where a directory should.
    #[error("nothing is there")]
    Missing,
    /// The operating system does not let us look or read.
    #[error("the operating system denies it")]
    Denied,
    /// It is a directory, FIFO, socket or device, and should be a file.
    #[error("it is not a regular file")]
    NotAFile,
    /// Others could have changed it, or what leads to it.
    #[error(transparent)]
    Untrusted(#[from] Distrust),
    /// It kept changing while it was looked at, or another process has it locked
    /// for writing.
    #[error("it keeps changing")]
    Unsteady,
    /// The process has too few descriptors, or too little memory.
    #[error("the process has too few file descriptors or too little memory")]
    OutOfResources,
    /// The file system failed.
    #[error("the file system failed: {0}")]
    Failed(std::io::ErrorKind),
}

impl From<Fault> for WalkError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing => Self::Missing,
            Fault::Denied => Self::Denied,
            Fault::NotAFile => Self::NotAFile,
            Fault::IsLink | Fault::Busy => Self::Unsteady,
            Fault::OutOfResources => Self::OutOfResources,
            Fault::Failed(kind) => Self::Failed(kind),
        }
    }
}

/// The end of a walk.
#[derive(Debug)]
pub struct Walked<H> {
    /// The file, open for reading; or the directory. For [`Policy::FOLLOWED`], the
    /// directory that `name` stands in.
    pub handle: H,
    /// What `handle` said of itself when it was judged.
    pub stat: Stat,
    /// For [`Policy::FOLLOWED`], the name; it is not a link, as far as one look
    /// tells. Otherwise empty.
    pub name: OsString,
    /// The directories that were passed on the real way, as [`Stat::id`] tells them,
    /// with `handle`'s if it is one.
    passed: Vec<(u64, u64)>,
    /// The same, held, so that nothing else can get their numbers: `/`, and what comes
    /// after it. A trail holds those that were walked along it.
    root: Option<Step<H>>,
    steps: Vec<Step<H>>,
    /// So many of them came before the first link or `..`.
    straight: usize,
}

impl<H> Walked<H> {
    /// Whether the end lies in `directory` or beneath. Both are told by descriptors
    /// that are held, never by name.
    #[must_use]
    pub fn is_beneath(&self, directory: &Self) -> bool {
        self.passed.contains(&directory.stat.id())
    }
}

/// Walks paths in one file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walker<F = System> {
    files: F,
}

impl<F: FileSystem> Walker<F> {
    /// Walks in `files`.
    pub const fn new(files: F) -> Self {
        Self { files }
    }

    /// The file system that is walked.
    pub const fn files(&self) -> &F {
        &self.files
    }

    /// Walks the absolute `path` from `/`. A path that is not absolute is taken to
    /// begin there as well.
    ///
    /// # Errors
    /// [`WalkError`].
    pub fn walk(&self, path: &Path, policy: Policy) -> Result<Walked<F::Handle>, WalkError> {
        let way = Way::from_root(self, policy)?;
        // One that begins at `/` itself has a handle for every end.
        self.walk_on(way, path, policy)?.ok_or(WalkError::Missing)
    }

    /// As [`Self::walk`], without opening again what `trail` holds. To be held until
    /// [`Walked::is_beneath`] was asked.
    ///
    /// It is as if this walk's first steps had been taken when the trail's were. So the
    /// trail should be of the same call.
    ///
    /// # Errors
    /// [`WalkError`].
    pub fn walk_along(
        &self,
        trail: Option<&Trail<F::Handle>>,
        path: &Path,
        policy: Policy,
    ) -> Result<Walked<F::Handle>, WalkError> {
        if let Some(trail) = trail {
            let way = Way::along(trail, self, policy);
            if let Some(walked) = self.walk_on(way, path, policy)? {
                return Ok(walked);
            }
        }
        self.walk(path, policy)
    }

    /// None means that the walk ended in a directory of the trail.
    fn walk_on(
        &self,
        mut way: Way<'_, F>,
        path: &Path,
        policy: Policy,
    ) -> Result<Option<Walked<F::Handle>>, WalkError> {
        let mut names = Names::default();
        names.push(path.as_os_str());
        let (mut links, mut attempts) = (0, 0);
        loop {
            let Some(name) = names.pop() else {
                return match policy.last {
                    Last::Directory => way.end(),
                    Last::File | Last::Name => Err(WalkError::NotAFile),
                };
            };
            if name == "." {
                continue;
            }
            if name == ".." {
                way.back();
                continue;
            }
            let is_last = names.is_empty();
            // The last directory is given away, so it is opened.
            let is_given = is_last || policy.last == Last::Name && names.has_one();
            if !is_given && way.enter_again(&name)? {
                continue;
            }
            if is_last && policy.last == Last::File {
                match self.files.open(&way.here().handle, &name) {
                    Ok(file) => return way.end_with(file, &name),
                    // Judged and followed below, like any other.
                    Err(Fault::IsLink) => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
            // The file is opened later, beneath this directory. A link there is held and
            // judged below, like any other.
            if is_last
                && policy.last == Last::Name
                && self.files.kind(&way.here().handle, &name)? != Kind::Link
            {
                return Ok(way.into_walked(None, name));
            }
            let held = self.files.hold(&way.here().handle, &name)?;
            let stat = self.files.stat(&held)?;
            match stat.kind {
                Kind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(WalkError::Missing);
                    }
                    way.judge_link(&stat, &name)?;
                    way.turn();
                    let target = self.files.read_link(&held, &way.here().handle, &name)?;
                    if target.is_empty() {
                        return Err(WalkError::Missing);
                    }
                    if paths::is_from_root(&target) {
                        way.back_to_root();
                    }
                    names.push(&target);
                }
                _ if is_last && policy.last == Last::Name => return Ok(way.into_walked(None, name)),
                Kind::Directory => way.enter(held, stat, name)?,
                // It was a link when it was to be opened, and is one no more.
                _ if is_last && policy.last == Last::File && attempts < ATTEMPTS => {
                    attempts += 1;
                    names.push(&name);
                }
                _ if is_last && policy.last == Last::File => return Err(WalkError::Unsteady),
                _ => return Err(WalkError::Missing),
            }
        }
    }

    /// Reads all of `file`, of which `stat` is what it says of itself, if it has at
    /// most `most` bytes. None means that it has more.
    ///
    /// # Errors
    /// [`WalkError`], as the file system says.
    pub fn read(
        &self,
        file: &F::Handle,
        stat: &Stat,
        most: u64,
    ) -> Result<Option<Vec<u8>>, WalkError> {
        // One more than there should be: the read that finds the end.
        let guess = usize::try_from(stat.size.min(most)).unwrap_or(0) + 1;
        let mut bytes = vec![0; guess];
        let mut have = 0;
        loop {
            let room = bytes.get_mut(have..).unwrap_or_default();
            let got = self.files.read(file, room, have as u64)?;
            have += got;
            if have as u64 > most {
                return Ok(None);
            }
            if got == 0 {
                bytes.truncate(have);
                return Ok(Some(bytes));
            }
            if have == bytes.len() {
                bytes.resize(have * 2, 0);
            }
        }
    }
}
