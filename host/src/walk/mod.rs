//! The only module in which the host turns a user's path into an open descriptor.
//!
//! A path does not identify a file: between two look-ups of one name, anyone who may
//! write to a directory on the way can replace what has the name. So the walk goes
//! along a path once, from `/`, one name at a time, and each step starts from the
//! descriptor of the step before. It always judges the descriptor that the next step
//! starts from, or that is read in the end. The kernel follows no link for us.
//!
//! One walk serves all purposes. A value, the [`Policy`], says what it demands on the
//! way:
//!
//! | policy | used for | the directories on the way | the links on the way | the object |
//! |---|---|---|---|---|
//! | [`Policy::TRUSTED_FILE`] | the map, a binding's key file | all trusted | trusted | a trusted file |
//! | [`Policy::TRUSTED_DIRECTORY`] | the plugin's data folder | all trusted | trusted | a trusted directory |
//! | [`Policy::ROOT`] | a root of the map | all above it trusted | trusted | any directory |
//! | [`Policy::FOLLOWED`] | a mapped file | any | trusted | any name; it is opened later, in the directory that the walk ended in |
//!
//! *Trusted* means that nobody but the user and root could have changed it: see
//! `trust.rs`. A link is trusted if the user or root made it, and it is in a trusted
//! directory: otherwise somebody could move another of the user's links there.
//!
//! Kernel file systems, such as procfs, are not allowed for any of these: nobody wrote
//! their files, and they belong to root whatever they say.
//!
//! The walk uses the system only through [`FileSystem`], so that tests can run it over
//! a model in which an attacker moves between any two steps.

mod error;
mod group;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod policy;
mod rest;
mod state;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod trust;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
pub(crate) mod windows;
#[cfg(all(test, unix))]
mod windows {
    //! These parts can be tested on other systems too.
    #![allow(dead_code, reason = "the rest needs Windows")]
    pub(super) mod names;
    pub(super) mod reparse;
    pub(super) mod security;
}

pub use error::WalkError;
#[cfg(target_os = "linux")]
pub use linux::System;
#[cfg(target_os = "macos")]
pub use macos::System;
pub use policy::Policy;
pub use rest::{LOOKS, QUIET};
pub use state::Trail;
pub use system::{Fault, FileSystem, Kind, Mount, Stat, Time};
pub use trust::{Distrust, Why};
#[cfg(unix)]
use unix as paths;
#[cfg(unix)]
pub(crate) use unix::into_file;
#[cfg(windows)]
pub use windows::System;
#[cfg(windows)]
pub(crate) use windows::into_file;
#[cfg(windows)]
use windows::paths;

use policy::Last;
use state::{Names, Step, WalkState};
use std::{ffi::OsString, path::Path};

/// As many links in a row as Linux follows: see path_resolution(7).
const MAX_LINKS: usize = 40;

/// How often the last name may change from a link into something else and back while
/// the walk looks at it. Without an attacker, a name is replaced once.
const ATTEMPTS: usize = 3;

/// The end of a walk.
#[derive(Debug)]
pub struct Walked<H> {
    /// The file, open for reading; or the directory. For [`Policy::FOLLOWED`], the
    /// directory that `name` is in.
    pub handle: H,
    /// What `handle` reported when it was judged.
    pub stat: Stat,
    /// For [`Policy::FOLLOWED`], the name; it is not a link, as far as one look
    /// tells. Otherwise empty.
    pub name: OsString,
    /// The directories that the real path passes, by [`Stat::id`], with `handle`'s if
    /// it is a directory.
    passed: Vec<(u64, u64)>,
    /// The same directories, open, so that nothing else can get their numbers: `/`, and
    /// those after it. The directories that were walked along a trail are in that trail
    /// instead.
    root: Option<Step<H>>,
    steps: Vec<Step<H>>,
    /// How many of them came before the first link or `..`.
    straight: usize,
}

impl<H> Walked<H> {
    /// Whether the end lies in `directory` or below. Both are identified by open
    /// descriptors, never by name.
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

    /// The file system of these walks.
    pub const fn files(&self) -> &F {
        &self.files
    }

    /// Walks the absolute `path` from `/`. It treats a path that is not absolute as if
    /// it began there as well.
    ///
    /// # Errors
    /// [`WalkError`].
    pub fn walk(&self, path: &Path, policy: Policy) -> Result<Walked<F::Handle>, WalkError> {
        let state = WalkState::from_root(self, policy)?;
        // A walk that begins at `/` itself has a handle for every end.
        self.walk_on(state, path, policy)?.ok_or(WalkError::Missing)
    }

    /// Like [`Self::walk`], but does not open again the directories that `trail` holds.
    /// Keep the trail until you have asked [`Walked::is_beneath`].
    ///
    /// The result is as if this walk had taken its first steps when the trail's walk
    /// did. So the trail should be of the same call.
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
            let state = WalkState::along(trail, self, policy);
            if let Some(walked) = self.walk_on(state, path, policy)? {
                return Ok(walked);
            }
        }
        self.walk(path, policy)
    }

    /// None means that the walk ended in a directory of the trail.
    fn walk_on(
        &self,
        mut state: WalkState<'_, F>,
        path: &Path,
        policy: Policy,
    ) -> Result<Option<Walked<F::Handle>>, WalkError> {
        let mut names = Names::default();
        names.push(path.as_os_str());
        let (mut links, mut attempts) = (0, 0);
        loop {
            let Some(name) = names.pop() else {
                return match policy.last {
                    Last::Directory => state.end(),
                    Last::File | Last::Name => Err(WalkError::NotAFile),
                };
            };
            if name == "." {
                continue;
            }
            if name == ".." {
                state.back();
                continue;
            }
            let is_last = names.is_empty();
            // The caller gets the last directory, so it is opened again.
            let is_given = is_last || policy.last == Last::Name && names.has_one();
            if !is_given && state.enter_again(&name)? {
                continue;
            }
            if is_last && policy.last == Last::File {
                match self.files.open(&state.here().handle, &name) {
                    Ok(file) => return state.end_with(file, &name),
                    // The link is judged and followed below, like any other.
                    Err(Fault::IsLink) => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
            // The file is opened later, in this directory. A link there is opened and
            // judged below, like any other.
            if is_last
                && policy.last == Last::Name
                && self.files.kind(&state.here().handle, &name)? != Kind::Link
            {
                return Ok(state.into_walked(None, name));
            }
            let held = self.files.hold(&state.here().handle, &name)?;
            let stat = self.files.stat(&held)?;
            match stat.kind {
                Kind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(WalkError::Missing);
                    }
                    state.judge_link(&stat, &name)?;
                    state.turn();
                    let target = self.files.read_link(&held, &state.here().handle, &name)?;
                    if target.is_empty() {
                        return Err(WalkError::Missing);
                    }
                    if paths::is_from_root(&target) {
                        state.back_to_root();
                    }
                    names.push(&target);
                }
                _ if is_last && policy.last == Last::Name => {
                    return Ok(state.into_walked(None, name));
                }
                Kind::Directory => state.enter(held, stat, name)?,
                // It was a link when the walk tried to open it, and is none any more.
                _ if is_last && policy.last == Last::File && attempts < ATTEMPTS => {
                    attempts += 1;
                    names.push(&name);
                }
                _ if is_last && policy.last == Last::File => return Err(WalkError::Unsteady),
                _ => return Err(WalkError::Missing),
            }
        }
    }

    /// Reads all of `file` if it has at most `most` bytes. `stat` is what the file
    /// reported. None means that the file has more.
    ///
    /// # Errors
    /// [`WalkError`], as the file system says.
    pub fn read(
        &self,
        file: &F::Handle,
        stat: &Stat,
        most: u64,
    ) -> Result<Option<Vec<u8>>, WalkError> {
        // One byte more than expected, for the read that finds the end.
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
