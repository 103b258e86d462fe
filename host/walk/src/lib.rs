//! Turns a user's path into an open file or directory that nobody else could have changed,
//! and reads a file at rest. Nothing else in the host opens a user's path.
//!
//! A path does not identify a file: between two look-ups of one name, anyone who may
//! write to a directory on the way can replace what has the name. So the walk goes
//! along a path once, from `/`, one name at a time, and each step starts from the
//! descriptor of the step before. The walk always judges the descriptor that the next
//! step starts from, or that is read in the end. The kernel follows no link for us.
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
mod members;
mod normal;
pub mod printable;
mod system;
#[cfg(test)]
mod tests;
mod trust;
mod walker;
mod way;

pub use error::{SystemError, WalkError, is_exhaustion};
pub use granted::{BETWEEN_LOOKS, GrantedFile, RECENT};
pub use group::groups_in;
#[cfg(target_os = "linux")]
pub use linux::remember;
pub use members::GroupFiles;
pub use normal::normal;
pub use system::{FileSystem, Handle, Kind, Opened, Stat, System, Time, Writers};
pub use trust::{Distrust, DistrustReason};
pub use walker::{Policy, Walker};
pub use way::Walked;

use std::path::{Path, PathBuf};
use way::{PathStack, push_names};

/// The most links that one walk follows: 40, as on Linux (see path_resolution(7)).
const MAX_LINKS: usize = 40;

/// How often the walk tries to open the last name if that keeps changing its type meanwhile.
/// Without an attacker, the name is replaced once.
const MAX_ATTEMPTS: usize = 3;

/// The names that one walk takes at most, with those of all links. A link of 800 names that ends at
/// itself would lead through 32,000 directories otherwise. No path of a user has a tenth of this.
const MAX_STEPS: usize = 1024;

impl<F: FileSystem> Walker<F> {
    /// Walks `path` from `/`, also if the path is not absolute, and follows links. Returns what the
    /// policy asks for. [`Policy::File`] and [`Policy::GroupFile`]: the file at `path`, open for
    /// reading. [`Policy::Directory`]: the directory at `path`, open. [`Policy::Name`], for
    /// `/home/jane/a.md`: the open directory `/home/jane` and the name `a.md`. This name is not
    /// opened, unless it is a link.
    ///
    /// The walk enters a directory, follows a link or returns a file only after `check_child` has
    /// found that object to be trusted.
    ///
    /// # Errors
    /// - [`SystemError::Missing`] if a name does not exist, or is no directory and should be one;
    ///   or if the path leads through more than 40 links, 1,024 names or 128 directories.
    /// - [`SystemError::NotAFile`] if the policy asks for a file, and the path leads to a
    ///   directory, a device or the like; or if it asks for a name, and the path ends without one,
    ///   as `/` does.
    /// - [`SystemError::Busy`] if the last name keeps changing its type.
    /// - [`SystemError::Late`] if the call's time is over.
    /// - [`WalkError::Untrusted`] at the first object that is not trusted.
    /// - Any other [`SystemError`] as the system reports it.
    pub fn walk(&self, path: &Path, policy: Policy) -> Result<Walked<F::Handle>, WalkError> {
        let mut way = PathStack::from_root(self, policy)?;
        let mut names = Vec::new();
        push_names(&mut names, path.as_os_str());
        let mut steps = 0;
        let mut links = 0;
        let mut attempts = 0;
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
            // `names` is empty at the last name of the path. The policy says what the last name
            // must be. Each name before it is a directory or a link.
            let must_be_file = names.is_empty() && policy.opens_file();
            let is_only_named = names.is_empty() && policy == Policy::Name;
            // `open` returns None for a link, which is held and followed below.
            if must_be_file && let Some(file) = way.open(&name)? {
                way.check_child(&file)?;
                return Ok(way.end_at(file));
            }
            if is_only_named && way.kind(&name)? != Kind::Link {
                return Ok(way.end_with(name));
            }
            let next = way.hold(name)?;
            match next.stat.kind {
                Kind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(SystemError::Missing.into());
                    }
                    way.check_child(&next)?;
                    way.follow(&next, &mut names)?;
                }
                // `kind` found a link at this name, and `hold` has opened something else.
                _ if is_only_named => return Ok(way.end_with(next.name)),
                Kind::Directory => {
                    way.check_child(&next)?;
                    way.enter(next)?;
                }
                // `open` found a link at this name, and `hold` has opened a file or the like. So
                // the name is opened for reading once more, in the next turn.
                _ if must_be_file => {
                    attempts += 1;
                    if attempts > MAX_ATTEMPTS {
                        return Err(SystemError::Busy.into());
                    }
                    names.push(next.name);
                }
                // A file or the like, where only a directory can be.
                _ => return Err(SystemError::Missing.into()),
            }
        }
        // The walk ends in a directory: the last name was one, or `.` or `..`, or there was none.
        if policy == Policy::Directory {
            return Ok(way.end());
        }
        Err(SystemError::NotAFile.into())
    }

    /// All bytes of an open file. None if the file has more than `most` bytes. `size` is what the
    /// file reported: it only decides how much memory is taken first, and need not be right.
    ///
    /// # Errors
    /// [`SystemError::Late`] if the call's time is over, or what the system reports.
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
                // The end of the file.
                bytes.truncate(have);
                return Ok(Some(bytes));
            }
            if have == bytes.len() {
                // The file has more bytes than it reported.
                bytes.resize(have * 2, 0);
            }
        }
    }
}

/// The directories in which an editor may put a new file when somebody saves `file`. That is the
/// directory above `file`: `/a` for `/a/map.toml`. If that path is a link to `/b/map.toml`, also
/// `/b`, because an editor may replace the link, or what the link leads to. And so on, for at most
/// 40 directories. Empty for `/`.
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
