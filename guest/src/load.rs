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

/// How often the file is opened and read, if somebody writes to it in the meantime.
const ATTEMPTS: usize = 4;

/// The whole content of the file that `key` stands for, unchanged, or why not.
///
/// `find` returns what this call may have for a key: a name such as `a.md` in `directory`, and the
/// largest size. It returns None for every other key. `directory` is None if nothing was preopened.
/// A grant for `../a.md` or `a.txt` is refused.
///
/// # Errors
/// Each case of [`LoadError`], as the contract documents it. The order of the checks is part of the
/// contract: the first that fails is the answer.
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
        // Opening a device may have an effect, so this looks at the name first. Only the
        // look at the handle below counts: the name may mean another file by then.
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
        // `read` returns None if the file has another size by now.
        if let Some(bytes) = read(&file, before.size)?
            && file.stat()? == before
        {
            return Ok(bytes);
        }
    }
    Err(LoadError::Changed)
}

/// All bytes of a file of this `size`. None if the file is shorter or longer by now.
///
/// A read may return fewer bytes than it was asked for, and the file may still go on. So all bytes
/// are there only when a last read returns none.
///
/// # Errors
/// [`LoadError::Internal`] if a read returns more than it was asked for, or if there is no memory.
fn read(file: &impl File, size: u64) -> Result<Option<Vec<u8>>, LoadError> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let have = bytes.len() as u64;
        // One byte more than is left: a file that has this byte has grown. No file is so
        // long that this saturates, but a file system may report such a size.
        let want = size.saturating_add(1) - have;
        let chunk = file.read(want, have)?;
        let got = chunk.len() as u64;
        if got > want {
            return Err(LoadError::Internal); // more than was asked for
        }
        if have + got > size || (got == 0 && have < size) {
            return Ok(None);
        }
        if got == 0 {
            return Ok(Some(bytes));
        }
        if have == 0 && got == size {
            bytes = chunk; // all of it at once: no copy
            continue;
        }
        if bytes.capacity() == 0 {
            // For the whole file at once, so that it is not moved while it grows. If there is no
            // memory, this fails and does not panic.
            let all = usize::try_from(size).map_err(|_| LoadError::Internal)?;
            let reserved = bytes.try_reserve_exact(all);
            reserved.map_err(|_| LoadError::Internal)?;
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// Whether `key` can be a key at all: 1 to 128 visible ASCII characters. `my key` cannot.
fn is_key(key: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Refuses every name that is not one plain path component, as `../a.md`, then every name that does
/// not end in `.md`, as `a.txt` and `.md`.
fn check_name(name: &str) -> Result<(), LoadError> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0']) {
        return Err(LoadError::OutsideRoot);
    }
    match name.strip_suffix(".md") {
        Some(stem) if !stem.is_empty() => Ok(()),
        _ => Err(LoadError::NotMarkdown),
    }
}
