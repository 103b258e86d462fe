//! The decision, top to bottom: may this key have this file?

#![forbid(unsafe_code)]

use crate::{Grant, LoadError};
use alloc::vec::Vec;

/// The longest key, in bytes. A key of 128 hexadecimal digits is 512 bits; anything
/// longer is a mistake. Source: "What a key is" in the contract.
pub const MAX_KEY_BYTES: usize = 128;

/// The one preopened directory, read-only. No method follows a symbolic link. The contract says
/// which error each failure of the file system is.
pub trait Directory {
    /// A file that was opened.
    type File: File;

    /// Whether `name` is a regular file, without opening it. This is only a hint, because the name
    /// may mean another file later: it avoids opening a file that would block.
    fn is_regular(&self, name: &str) -> Result<bool, LoadError>;

    /// Opens `name` for reading, once it has settled.
    fn open(&self, name: &str) -> Result<Self::File, LoadError>;
}

/// An open file.
pub trait File {
    /// What the open handle reports. The first time, this is what it reported when it had
    /// settled: see "Reading" in the contract.
    fn stat(&self) -> Result<Stat, LoadError>;

    /// Up to `len` bytes from `offset`; no bytes only at the end of the file.
    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError>;
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
    /// When anything of it was last changed, if the file system says.
    pub changed: Option<Time>,
}

/// A time of the file system's clock: seconds and nanoseconds. It is only compared with
/// another time of the same file, so its epoch does not matter.
pub type Time = (u64, u32);

/// How often the file is opened and read, if somebody writes to it in the meantime: four times.
const ATTEMPTS: usize = 4;

/// The whole content of the file that `key` stands for, unchanged, or why there is none.
///
/// `find` returns the grant for a key, or None if this call may have nothing for that key. A grant
/// has a name and the largest size, as `a.md` and 1,048,576 bytes. The file of that name in
/// `directory` is returned if it has at most so many bytes. `directory` is None if the host has
/// preopened nothing.
///
/// # Errors
/// The first check that fails decides, in this order, which is part of the contract:
///
/// 1. [`LoadError::UnknownKey`]: `key` cannot be a key, such as `my key`, or `find` returns None.
/// 2. [`LoadError::OutsideRoot`] if the granted name is not one plain name, such as `../a.md`;
///    [`LoadError::NotMarkdown`] if it does not end in `.md`, such as `a.txt`.
/// 3. [`LoadError::NotFound`]: `directory` is None.
/// 4. [`LoadError::NotAFile`]: the name is a directory or a device, for example.
/// 5. [`LoadError::TooLarge`]: the file has more bytes than the grant allows.
/// 6. [`LoadError::Changed`]: the file changed while it was read, in each of four attempts.
///
/// If a call of `directory` or of the file fails, that error is the answer.
pub fn load<D: Directory>(
    key: &str,
    find: impl Fn(&str) -> Option<Grant>,
    directory: Option<&D>,
) -> Result<Vec<u8>, LoadError> {
    if !is_key(key) {
        return Err(LoadError::UnknownKey);
    }
    let grant = find(key).ok_or(LoadError::UnknownKey)?;
    check_name(&grant.name)?;

    let directory = directory.ok_or(LoadError::NotFound)?;
    for _ in 0..ATTEMPTS {
        // Opening a device may have an effect, so the name is looked at first. Only the look at the
        // open file below counts, because the name may mean another file by then.
        if !directory.is_regular(&grant.name)? {
            return Err(LoadError::NotAFile);
        }
        // Each attempt opens the file anew: `open` waits until the file has settled again.
        let file = directory.open(&grant.name)?;
        let before = file.stat()?;
        if !before.regular {
            return Err(LoadError::NotAFile);
        }
        if before.size > grant.max_bytes {
            return Err(LoadError::TooLarge);
        }
        // `read` returns None if the file does not have `before.size` bytes any more. If the file
        // reports anything else than before, it changed while it was read.
        if let Some(bytes) = read(&file, before.size)?
            && file.stat()? == before
        {
            return Ok(bytes);
        }
    }
    // Somebody wrote to the file during each attempt.
    Err(LoadError::Changed)
}

/// All bytes of a file that has reported this `size`. None if the file now has fewer or more bytes:
/// with `size` 5, None for a file of 4 bytes and for one of 6.
///
/// One read may return fewer bytes than it was asked for, although the file goes on. So this reads
/// until a read returns no bytes, which happens only at the end of the file.
///
/// # Errors
/// [`LoadError::Internal`] if a read returns more bytes than it was asked for, or if there is too
/// little memory; or the error of a read.
fn read(file: &impl File, size: u64) -> Result<Option<Vec<u8>>, LoadError> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let have = bytes.len() as u64;
        // One byte more than the rest of the file: if this byte comes, the file has grown. No file
        // is so long that this saturates, but a file system may report such a size.
        let want = size.saturating_add(1) - have;
        let chunk = file.read(want, have)?;
        let got = chunk.len() as u64;
        if got > want {
            return Err(LoadError::Internal); // more than was asked for
        }
        // The file has grown, or ends before `size`.
        if have + got > size || (got == 0 && have < size) {
            return Ok(None);
        }
        // The file ends at `size`.
        if got == 0 {
            return Ok(Some(bytes));
        }
        if have == 0 && got == size {
            bytes = chunk; // all of it at once: no copy
            continue;
        }
        if bytes.capacity() == 0 {
            // Memory for the whole file at once, so that `bytes` is not moved while it grows. If
            // there is too little memory, this fails and does not panic.
            let all = usize::try_from(size).map_err(|_| LoadError::Internal)?;
            let reserved = bytes.try_reserve_exact(all);
            reserved.map_err(|_| LoadError::Internal)?;
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// Whether `key` can be a key at all: 1 to 128 visible ASCII characters. `my key` cannot, because
/// of the blank.
fn is_key(key: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Checks the name in a grant: `a.md` is accepted.
///
/// # Errors
/// [`LoadError::OutsideRoot`] if the name is not one plain path component, as `../a.md` and the
/// empty name; else [`LoadError::NotMarkdown`] if it is not something and `.md`, as `a.txt` and
/// `.md`.
fn check_name(name: &str) -> Result<(), LoadError> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
        return Err(LoadError::OutsideRoot);
    }
    match name.strip_suffix(".md") {
        Some(stem) if !stem.is_empty() => Ok(()),
        _ => Err(LoadError::NotMarkdown),
    }
}
