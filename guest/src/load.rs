//! The decision, top to bottom: may this key have this file?

#![forbid(unsafe_code)]

use crate::{Grant, LoadError, text::is_utf8};
use alloc::{string::String, vec::Vec};

/// The longest key there is, in bytes. A key of 128 hexadecimal digits is 512
/// bits; anything longer is a mistake. Source: "What a key is" in the contract.
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

    /// Whether `name` is a regular file, without opening it. Only a hint, for
    /// what is behind a name may change: it spares opening what would block.
    ///
    /// # Errors
    /// What the file system refused.
    fn is_regular(&self, name: &str) -> Result<bool, Fault>;

    /// Opens `name` for reading.
    ///
    /// # Errors
    /// What the file system refused.
    fn open(&self, name: &str) -> Result<Self::File, Fault>;
}

/// An open file.
pub trait File {
    /// What the open handle says of itself. The first time, that is what it said
    /// when it was found at rest.
    ///
    /// # Errors
    /// What the file system refused.
    fn stat(&self) -> Result<Stat, Fault>;

    /// Up to `len` bytes from `offset`; none only at the end of the file.
    ///
    /// # Errors
    /// What the file system refused.
    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault>;
}

/// What [`load`] asks of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a regular file.
    pub regular: bool,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written to, if the file system says.
    pub modified: Option<Time>,
    /// When anything of it was last changed. None if no clock tells of every
    /// change.
    pub changed: Option<Time>,
}

/// A time of the file system's clock: seconds and nanoseconds. Only compared
/// with another of the same file, so its epoch does not matter.
pub type Time = (u64, u32);

/// Why the file system did not do what it was asked, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no such name.
    Missing,
    /// The operating system says no.
    Denied,
    /// The name is a link, or leads out of the directory.
    Escapes,
    /// It is there, but it cannot be opened or read as a file.
    NotAFile,
    /// It does not come to rest, or another process keeps it: later it may.
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

/// The whole content of the file that `key` stands for, unchanged, or why not.
///
/// `directory` is none where nothing was preopened.
///
/// # Errors
/// Each case of [`LoadError`], as the contract documents it. The order of the
/// checks is part of the contract: the first that fails is the answer.
pub fn load<D: Directory>(
    key: &str,
    grants: &impl Grants,
    directory: Option<&D>,
) -> Result<String, LoadError> {
    let bytes = load_unchecked(key, grants, directory)?;
    String::from_utf8(bytes).map_err(|_| LoadError::NotUtf8)
}

/// As [`load()`], but as bytes that are UTF-8: what the component answers. Our own check
/// shows that they are, which the standard library makes no `String` of.
///
/// # Errors
/// As [`load()`].
pub fn load_bytes<D: Directory>(
    key: &str,
    grants: &impl Grants,
    directory: Option<&D>,
) -> Result<Vec<u8>, LoadError> {
    let bytes = load_unchecked(key, grants, directory)?;
    match is_utf8(&bytes) {
        true => Ok(bytes),
        false => Err(LoadError::NotUtf8),
    }
}

/// The whole decision, but for the last check: whether it is text.
fn load_unchecked<D: Directory>(
    key: &str,
    grants: &impl Grants,
    directory: Option<&D>,
) -> Result<Vec<u8>, LoadError> {
    if !is_key(key) {
        return Err(LoadError::UnknownKey);
    }
    let grant = grants.find(key).ok_or(LoadError::UnknownKey)?;
    check_name(&grant.name)?;

    // Opening a device may do something, so the name is looked at first. What
    // counts is the look at the handle below: the name may mean another file by
    // then.
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
    let bytes = read_all(&file, before.size)?;
    if file.stat()? != before {
        return Err(LoadError::Changed);
    }
    // Two looks that agree prove nothing if no clock tells of every change. Then
    // what was read has to be there still.
    if before.changed.is_none() && !is_still(&file, &bytes)? {
        return Err(LoadError::Changed);
    }
    Ok(bytes)
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

/// All `size` bytes of `file`, and the end right behind them. Asks for one byte more
/// than there should be: a file that has it has grown, or is longer than it says.
/// A read that comes back short proves neither, so the last one has to come back
/// empty.
fn read_all(file: &impl File, size: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let have = bytes.len() as u64;
        // No file is so long that this saturates, but a file system may say so.
        let want = size.saturating_add(1) - have;
        let chunk = file.read(want, have)?;
        let got = chunk.len() as u64;
        if got > want {
            return Err(LoadError::Internal); // more than was asked for
        }
        if have + got > size || (got == 0 && have < size) {
            return Err(LoadError::Changed);
        }
        if got == 0 {
            return Ok(bytes);
        }
        if have == 0 && got == size {
            bytes = chunk; // all of it at once: no copy
            continue;
        }
        if bytes.capacity() == 0 {
            reserve(&mut bytes, size)?;
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// Whether `file` still is what was read of it, and no longer. Piece by piece, as
/// there may be no room for another whole.
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

/// Room for the whole file at once, so that it is not moved while it grows. No
/// room is a failure, not a panic.
fn reserve(bytes: &mut Vec<u8>, size: u64) -> Result<(), LoadError> {
    usize::try_from(size)
        .ok()
        .and_then(|size| bytes.try_reserve_exact(size).ok())
        .ok_or(LoadError::Internal)
}
