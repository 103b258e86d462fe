//! The files of a case.

use crate::table::{Make, RawEntry};
use std::{
    fs,
    io::{self, Write},
    os::unix::{self, fs::PermissionsExt, net::UnixListener},
    path::{Component, Path, PathBuf},
    process::Command,
};

/// Something to create under a case's directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Relative to the preopened directory; at most one `..`, at its beginning.
    pub(crate) path: PathBuf,
    kind: Kind,
    mode: Option<u32>,
}

#[derive(Clone, Debug)]
enum Kind {
    File(Vec<u8>),
    /// This many zeros, which take no space.
    Sparse(u64),
    Link(PathBuf),
    Directory,
    Fifo,
    Socket,
}

impl Entry {
    /// The content that it will have, if it is a file.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::File(bytes) => Some(bytes.clone()),
            Kind::Sparse(size) => Some(vec![0; usize::try_from(*size).ok()?]),
            _ => None,
        }
    }

    /// Creates it.
    pub(crate) fn create(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.path);
        match &self.kind {
            Kind::File(bytes) => fs::File::create_new(&path)?.write_all(bytes)?,
            Kind::Sparse(size) => fs::File::create_new(&path)?.set_len(*size)?,
            Kind::Link(target) => unix::fs::symlink(target, &path)?,
            Kind::Directory => fs::create_dir(&path)?,
            Kind::Fifo => make_fifo(&path)?,
            // The name stays after the listener is closed.
            Kind::Socket => drop(UnixListener::bind(&path)?),
        }
        match self.mode {
            Some(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode)),
            None => Ok(()),
        }
    }
}

/// Makes a FIFO. The standard library cannot do this, and every Unix has `mkfifo`.
fn make_fifo(path: &Path) -> io::Result<()> {
    let status = Command::new("mkfifo").arg("--").arg(path).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("mkfifo: {status}")))
    }
}

impl TryFrom<RawEntry> for Entry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        let path = PathBuf::from(raw.path.join());
        let is_safe = path.components().enumerate().all(|(at, part)| match part {
            Component::Normal(_) => true,
            Component::ParentDir => at == 0,
            _ => false,
        });
        if !is_safe || path.file_name().is_none() {
            return Err(format!("{path:?} is no path for a tree"));
        }
        let kind = match (raw.text, raw.hex, raw.size, raw.link, raw.make) {
            (Some(text), None, None, None, None) => Kind::File(text.join().into_bytes()),
            (None, Some(hex), None, None, None) => Kind::File(hex.unhex()?),
            (None, None, Some(size), None, None) => Kind::Sparse(size),
            (None, None, None, Some(target), None) => Kind::Link(target.join().into()),
            (None, None, None, None, Some(make)) => match make {
                Make::Directory => Kind::Directory,
                Make::Fifo => Kind::Fifo,
                Make::Socket => Kind::Socket,
            },
            _ => return Err(format!("{path:?} needs one of text, hex, size, link, make")),
        };
        if raw.mode.is_some() && !matches!(kind, Kind::File(_) | Kind::Sparse(_)) {
            return Err(format!("{path:?} has a mode and is not a file"));
        }
        Ok(Self {
            path,
            kind,
            mode: raw.mode,
        })
    }
}
