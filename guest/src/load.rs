//! The decision, top to bottom: may this key have this file?

#![forbid(unsafe_code)]

use crate::{Grant, LoadError, Part};
use alloc::{string::String, vec::Vec};

/// The longest key, in bytes. A key of 128 hexadecimal digits is 512 bits; anything
/// longer is a mistake. Source: "What a key is" in the contract.
pub const MAX_KEY_BYTES: usize = 128;

/// The map, as far as this call may see it.
pub trait Grants {
    /// The grant for `key`, if it has one. See `find` in the contract.
    fn find(&self, key: &str) -> Option<Grant>;
}

/// The one preopened directory, read-only. No method follows a symbolic link.
pub trait Directory {
    /// A file that was opened.
    type File: File;

    /// Whether `name` is a regular file, without opening it. This is only a hint,
    /// because the name may mean another file later: it avoids opening a file that
    /// would block.
    ///
    /// # Errors
    /// Why the file system refused it.
    fn is_regular(&self, name: &str) -> Result<bool, Fault>;

    /// Opens `name` for reading.
    ///
    /// # Errors
    /// Why the file system refused it.
    fn open(&self, name: &str) -> Result<Self::File, Fault>;
}

/// An open file.
pub trait File {
    /// What the open handle reports. The first time, this is the look at which the file
    /// was found at rest.
    ///
    /// # Errors
    /// Why the file system refused it.
    fn stat(&self) -> Result<Stat, Fault>;

    /// Up to `len` bytes from `offset`; no bytes only at the end of the file.
    ///
    /// # Errors
    /// Why the file system refused it.
    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault>;
}

/// What [`load`] needs to know about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a regular file.
    pub regular: bool,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written to, if the file system says.
    pub modified: Option<Time>,
    /// When anything of it was last changed. None if no clock shows every change.
    pub changed: Option<Time>,
}

/// A time of the file system's clock: seconds and nanoseconds. It is only compared with
/// another time of the same file, so its epoch does not matter.
pub type Time = (u64, u32);

/// Why the file system did not do what it was asked, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No file has this name.
    Missing,
    /// The operating system denies it.
    Denied,
    /// The name is a link, or leads out of the directory.
    Escapes,
    /// It exists, but cannot be opened or read as a file.
    NotAFile,
    /// It does not come to rest, or another process holds it: it may be readable later.
    Unsettled,
    /// Anything else.
    Other,
}

impl From<Fault> for LoadError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing => Self::NotFound,
            Fault::Denied => Self::PermissionDenied,
            Fault::Escapes => Self::OutsideRoot,
            Fault::NotAFile => Self::NotAFile,
            Fault::Unsettled => Self::Changed,
            Fault::Other => Self::Internal,
        }
    }
}

/// How much of a file the component holds at once, in bytes, unless it must be all of it.
/// Small enough to stay in the processor's own memory, and for a slot to keep.
pub const PART_BYTES: u64 = 128 << 10;

/// In bytes, in UTF-8.
const LONGEST_CHARACTER: u64 = 4;

/// The whole content of the file that `key` stands for, unchanged, or why not. This is
/// [`open()`] with one part, which is the whole.
///
/// `directory` is None if nothing was preopened.
///
/// # Errors
/// Each case of [`LoadError`], as the contract documents it. The order of the
/// checks is part of the contract: the first that fails is the answer.
pub fn load<D: Directory>(
    key: &str,
    grants: &impl Grants,
    directory: Option<&D>,
) -> Result<String, LoadError> {
    let (bytes, _) = open(key, grants, directory, u64::MAX)?.read()?;
    String::from_utf8(bytes).map_err(|_| LoadError::NotUtf8)
}

/// Opens the file that `key` stands for, to read it in parts of at most `part_bytes`; or
/// of four, since that is the longest character.
///
/// # Errors
/// As [`load()`].
pub fn open<D: Directory>(
    key: &str,
    grants: &impl Grants,
    directory: Option<&D>,
    part_bytes: u64,
) -> Result<Reading<D::File>, LoadError> {
    if !is_key(key) {
        return Err(LoadError::UnknownKey);
    }
    let grant = grants.find(key).ok_or(LoadError::UnknownKey)?;
    check_name(&grant.name)?;

    // Opening a device may have an effect, so this looks at the name first. Only the
    // look at the handle below counts: the name may mean another file by then.
    let directory = directory.ok_or(LoadError::NotFound)?;
    if !directory.is_regular(&grant.name)? {
        return Err(LoadError::NotAFile);
    }
    let file = directory.open(&grant.name)?;

    let before = file.stat()?;
    if !before.regular {
        return Err(LoadError::NotAFile);
    }
    if before.size > grant.max_bytes {
        return Err(LoadError::TooLarge);
    }
    // If no clock shows every change, all of it is read twice, and so it comes at once.
    let part_bytes = match before.changed {
        Some(_) => part_bytes.max(LONGEST_CHARACTER),
        None => u64::MAX,
    };
    Ok(Reading {
        file,
        before,
        part_bytes,
        given: 0,
    })
}

/// A file that may be read, and how much of it was given away. Nothing of it may be shown
/// to anybody before the last part has come.
#[derive(Debug)]
pub struct Reading<F> {
    file: F,
    before: Stat,
    part_bytes: u64,
    given: u64,
}

impl<F: File> Reading<F> {
    /// The next part. The parts together are the file, but only when the last has come.
    /// No character is cut.
    ///
    /// The host checks whether each part is text. A check here would take as long again, and
    /// the host would not rely on it.
    ///
    /// # Errors
    /// As [`load()`], but for [`LoadError::NotUtf8`].
    pub fn next_part(&mut self) -> Result<Part, LoadError> {
        Ok(match self.read()? {
            (bytes, true) => Part::Last(bytes),
            (bytes, false) => Part::More(bytes),
        })
    }

    /// The next part, and whether it is the last.
    fn read(&mut self) -> Result<(Vec<u8>, bool), LoadError> {
        let mut bytes = self.fill()?;
        let is_last = self.given + bytes.len() as u64 == self.before.size;
        if !is_last {
            // The beginning of a character is read again, with the rest of it.
            bytes.truncate(bytes.len() - begun(&bytes));
            self.given += bytes.len() as u64;
            return Ok((bytes, false));
        }
        self.check_unchanged()?;
        // Two equal looks prove nothing if no clock shows every change. Then what was
        // read must still be there.
        if self.before.changed.is_none() && !is_still(&self.file, &bytes)? {
            return Err(LoadError::Changed);
        }
        Ok((bytes, true))
    }

    fn check_unchanged(&self) -> Result<(), LoadError> {
        match self.file.stat()? == self.before {
            true => Ok(()),
            false => Err(LoadError::Changed),
        }
    }

    /// Reads a part that is full, or all that is left and the end directly after it. It
    /// asks for one byte more than expected: a file that has this byte has grown, or is
    /// longer than it reports. A read that returns fewer bytes proves neither, so the last
    /// read must return none.
    fn fill(&self) -> Result<Vec<u8>, LoadError> {
        let size = self.before.size;
        let left = size - self.given;
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let have = bytes.len() as u64;
            if have == self.part_bytes && have < left {
                return Ok(bytes); // full, and not the last
            }
            // No file is so long that this saturates, but a file system may report such a
            // size.
            let want = match have == left {
                true => 1,
                false => (left.saturating_add(1) - have).min(self.part_bytes - have),
            };
            let chunk = self.file.read(want, self.given + have)?;
            let got = chunk.len() as u64;
            if got > want {
                return Err(LoadError::Internal); // more than was asked for
            }
            if have + got > left || (got == 0 && have < left) {
                return Err(LoadError::Changed);
            }
            if got == 0 {
                return Ok(bytes);
            }
            let full = left.min(self.part_bytes);
            if have == 0 && got == full {
                bytes = chunk; // all of it at once: no copy
                continue;
            }
            if bytes.capacity() == 0 {
                reserve(&mut bytes, full)?;
            }
            bytes.extend_from_slice(&chunk);
        }
    }
}

/// Whether `key` can be a key at all.
fn is_key(key: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Refuses every name that is not one plain path component, then every name
/// that does not end in `.md`.
fn check_name(name: &str) -> Result<(), LoadError> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
        return Err(LoadError::OutsideRoot);
    }
    match name.strip_suffix(".md") {
        Some(stem) if !stem.is_empty() => Ok(()),
        _ => Err(LoadError::NotMarkdown),
    }
}

/// How many bytes at the end begin a character that continues behind them.
fn begun(bytes: &[u8]) -> usize {
    let leads = [0xc0, 0xe0, 0xf0];
    let last = bytes.iter().rev().zip(1..=leads.len());
    last.zip(leads)
        .find_map(|((byte, place), lead)| (*byte >= lead).then_some(place))
        .unwrap_or(0)
}

/// Whether `file` still has the content that was read, and no more. This compares piece
/// by piece, because there may be no memory for a second copy.
fn is_still(file: &impl File, bytes: &[u8]) -> Result<bool, LoadError> {
    let mut rest = bytes;
    loop {
        let want = rest.len() as u64 + 1;
        let chunk = file.read(want, (bytes.len() - rest.len()) as u64)?;
        if chunk.len() as u64 > want {
            return Err(LoadError::Internal); // more than was asked for
        }
        if chunk.is_empty() {
            return Ok(rest.is_empty());
        }
        match rest.strip_prefix(&chunk[..]) {
            Some(behind) => rest = behind,
            None => return Ok(false),
        }
    }
}

/// Memory for the whole file at once, so that it is not moved while it grows. If there
/// is none, this fails and does not panic.
fn reserve(bytes: &mut Vec<u8>, size: u64) -> Result<(), LoadError> {
    usize::try_from(size)
        .ok()
        .and_then(|size| bytes.try_reserve_exact(size).ok())
        .ok_or(LoadError::Internal)
}
