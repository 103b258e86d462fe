//! Turns a user's path into an open file or directory that nobody else could have changed,
//! and reads a file at rest. Nothing else in the host opens a user's path.
//!
//! A path does not identify a file: between two look-ups of one name, anyone who may
//! write to a directory on the way can replace what has the name. So the walk goes
//! along a path once, from `/`, one name at a time, and each step starts from the
//! descriptor of the step before. It always judges the descriptor that the next step
//! starts from, or that is read in the end. The kernel follows no link for us.
//!
//! One rule holds for everything that is walked: every directory from `/` on, every link,
//! and the file must be *trusted*, so that nobody but the user and root could have
//! changed it (`trust.rs`). A value, the [`Policy`], says what the path must lead to.
//!
//! Kernel file systems, such as procfs, are not allowed for any of these: nobody wrote
//! their files, and they belong to root whatever they say.
//!
//! The walk uses the system only through [`FileSystem`], so that tests can run it over
//! a model in which an attacker moves between any two steps.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

mod error;
mod granted;
mod group;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
pub mod printable;
mod system;
#[cfg(test)]
mod tests;
mod trust;
mod way;

pub use error::{SystemError, WalkError, is_exhaustion};
pub use granted::{APART, GrantedFile, RECENT};
pub use group::{GroupFiles, groups_in};
#[cfg(target_os = "linux")]
pub use linux::remember;
pub use system::{FileSystem, Handle, Kind, Stat, System, Time, Writers};
pub use trust::{Distrust, DistrustReason};

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Instant,
};
use way::{PathStack, Step, push_names};

/// As many links in a row as Linux follows: see path_resolution(7).
const MAX_LINKS: usize = 40;

/// Attempts if the last component keeps changing its type while the walk looks at it.
/// Without an attacker, it is replaced once.
const ATTEMPTS: usize = 3;

/// The names that one walk takes at most, with those of all links. A link of 800 names that ends at
/// itself would lead through 32,000 directories otherwise. No path of a user has a tenth of this.
const MAX_STEPS: usize = 1024;

/// What a walk must lead to. All on the way must be trusted, whatever the policy: see `trust.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A file, open for reading: a map.
    File,
    /// A directory: a root, the folder of tickets.
    Directory,
    /// A name in a directory: a mapped file, which [`GrantedFile`] opens and judges later.
    Name,
    /// A file that says who is in a group. Group-writable is always refused here; else the
    /// file would vouch for itself.
    GroupFile,
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
    /// The directories that the real path passes before `handle`, still open: so nothing
    /// else can get their numbers.
    above: Vec<Step<H>>,
}

impl<H> Walked<H> {
    /// Whether the end lies in `directory` or below. Both are identified by open
    /// descriptors, never by name.
    pub fn is_beneath(&self, directory: &Self) -> bool {
        let passed = self.above.iter().map(|step| &step.stat);
        let mut passed = passed.chain([&self.stat]);
        passed.any(|stat| stat.id() == directory.stat.id())
    }
}

/// Walks paths in one file system.
#[derive(Clone, Debug, Default)]
pub struct Walker<F = System> {
    files: F,
    /// When its call has to end. None means that nobody waits.
    until: Option<Instant>,
}

impl<F: FileSystem> Walker<F> {
    /// Walks in `files`, as long as it takes.
    pub const fn new(files: F) -> Self {
        Self { files, until: None }
    }

    /// The same, for a call that has to end at `deadline`. After that it takes no further
    /// step: [`SystemError::Late`]. Nothing ends the step that it is in.
    #[must_use]
    pub fn until(self, deadline: Instant) -> Self {
        let until = Some(deadline);
        Self { until, ..self }
    }

    fn in_time(&self) -> Result<(), SystemError> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(SystemError::Late),
            _ => Ok(()),
        }
    }

    /// Walks the absolute `path` from `/`. It treats a path that is not absolute as if
    /// it began there as well.
    pub fn walk(&self, path: &Path, policy: Policy) -> Result<Walked<F::Handle>, WalkError> {
        let mut way = PathStack::from_root(self, policy)?;
        let mut names = Vec::new();
        push_names(&mut names, path.as_os_str());
        let (mut steps, mut links, mut attempts) = (0, 0, 0);
        while let Some(name) = names.pop() {
            self.in_time()?;
            steps += 1;
            if steps > MAX_STEPS {
                return Err(SystemError::Missing.into());
            }
            if name == "." {
                continue;
            }
            if name == ".." {
                way.back();
                continue;
            }
            let here = &way.here.handle;
            // What the last name must be.
            let end = names.is_empty().then_some(policy);
            let is_file = matches!(end, Some(Policy::File | Policy::GroupFile));
            if is_file {
                match self.files.open(here, &name) {
                    Ok((_, stat)) if stat.kind != Kind::File => {
                        return Err(SystemError::NotAFile.into());
                    }
                    Ok((handle, stat)) => {
                        let file = Step { handle, stat, name };
                        way.check_child(&file)?;
                        way.push(file);
                        return Ok(way.end(OsString::new()));
                    }
                    // The link is judged and followed below, like any other.
                    Err(SystemError::IsLink) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if end == Some(Policy::Name) && self.files.kind(here, &name)? != Kind::Link {
                return Ok(way.end(name));
            }
            let (handle, stat) = self.files.hold(here, &name)?;
            let next = Step { handle, stat, name };
            match next.stat.kind {
                Kind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(SystemError::Missing.into());
                    }
                    way.check_child(&next)?;
                    let target = self.files.read_link(&next.handle, here, &next.name)?;
                    if target.is_empty() {
                        return Err(SystemError::Missing.into());
                    }
                    if target.as_encoded_bytes().starts_with(b"/") {
                        way.back_to_root();
                    }
                    push_names(&mut names, &target);
                }
                // It was a link just now, and is none any more.
                _ if end == Some(Policy::Name) => return Ok(way.end(next.name)),
                Kind::Directory => way.enter(next)?,
                _ if is_file && attempts < ATTEMPTS => {
                    attempts += 1;
                    names.push(next.name);
                }
                _ if is_file => return Err(SystemError::Busy.into()),
                _ => return Err(SystemError::Missing.into()),
            }
        }
        match policy {
            Policy::Directory => Ok(way.end(OsString::new())),
            _ => Err(SystemError::NotAFile.into()),
        }
    }

    /// Reads all of `file` if it has at most `most` bytes. None means that it has more.
    /// `size` is what the file reported.
    fn read(&self, file: &F::Handle, size: u64, most: u64) -> Result<Option<Vec<u8>>, WalkError> {
        // One byte more than expected, for the read that finds the end.
        let guess = usize::try_from(size.min(most)).unwrap_or(0) + 1;
        let mut bytes = vec![0; guess];
        let mut have = 0;
        loop {
            self.in_time()?;
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

/// The directories in which a file may come to lie when somebody saves it: the one that its
/// path names, and, if it is a link, the one that this names, and so on. An editor may write a
/// new file in place of a link, or in place of what the link leads to.
#[expect(clippy::disallowed_methods, reason = "the walk itself")]
pub fn directories_of(file: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut path = file.to_owned();
    while let Some(directory) = path.parent()
        && directories.len() < MAX_LINKS
    {
        directories.push(directory.to_owned());
        let Ok(target) = path.read_link() else {
            break;
        };
        path = directory.join(target);
    }
    directories
}

/// The name of a file as a [`FileSystem`] takes it: one name, which leads nowhere else.
fn plain_name(name: &str) -> Option<&OsStr> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    is_plain.then_some(OsStr::new(name))
}
