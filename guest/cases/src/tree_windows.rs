//! What a tree can hold on Windows: files and directories, by names that mean themselves.

use std::{fs, io, path::Path};

/// What there is here, and why not.
pub(super) struct Has;

impl Has {
    pub(super) const LINKS: Result<(), &str> =
        Err("to make a link takes a right that users do not have");
    pub(super) const SPECIAL: Result<(), &str> = Err("Windows has no such files");
    pub(super) const MODES: Result<(), &str> = Err("Windows has no modes");

    pub(super) fn name(path: &Path) -> Result<(), &'static str> {
        let path = path.to_str().unwrap_or("*");
        let is_odd = |c: char| c < ' ' || "<>:\"\\|?*".contains(c);
        let is_cut = |name: &str| name != ".." && name.ends_with(['.', ' ']);
        match path.contains(is_odd) || path.split('/').any(is_cut) {
            true => Err("Windows has no such names"),
            false => Ok(()),
        }
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
