//! What a tree can hold on Windows: files and directories, by names that mean themselves.

use super::{Entry, Make};
use std::{fs, io, path::Path};

/// Why this system cannot have it, if so.
pub(crate) fn lacks(entry: &Entry) -> Option<&'static str> {
    let path = &*entry.path.0;
    let is_odd = |c: char| c < ' ' || "<>:\"\\|?*".contains(c);
    let is_cut = |name: &str| name != ".." && name.ends_with(['.', ' ']);
    if entry.link.is_some() {
        Some("to make a link takes a right that users do not have")
    } else if let Some(Make::Fifo | Make::Socket) = entry.make {
        Some("Windows has no such files")
    } else if entry.mode.is_some() {
        Some("Windows has no modes")
    } else if path.contains(is_odd) || path.split('/').any(is_cut) {
        Some("Windows has no such names")
    } else {
        None
    }
}

pub(super) fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

pub(super) fn set_mode(_: &Path, mode: Option<u32>) -> io::Result<()> {
    match mode {
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
        None => Ok(()),
    }
}

pub(super) fn socket(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn fifo(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
