//! The files of a case.

use crate::table::{Make, RawEntry};
use std::{
    fs,
    io::{self, Write},
    path::{Component, Path, PathBuf},
};

#[cfg(unix)]
#[path = "tree_unix.rs"]
pub(crate) mod system;
#[cfg(windows)]
#[path = "tree_windows.rs"]
pub(crate) mod system;

/// Something to create below a case's directory.
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

    /// Why this system cannot have it, if so.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let has = match self.kind {
            Kind::Link(_) => system::Has::LINKS,
            Kind::Fifo | Kind::Socket => system::Has::SPECIAL,
            _ if self.mode.is_some() => system::Has::MODES,
            _ => Ok(()),
        };
        has.and_then(|()| system::Has::name(&self.path)).err()
    }

    /// Creates it. Nobody but the user may change it, whatever the umask is: no engine
    /// should take it for a stranger's.
    pub(crate) fn create(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.path);
        match &self.kind {
            Kind::File(bytes) => fs::File::create_new(&path)?.write_all(bytes)?,
            Kind::Sparse(size) => fs::File::create_new(&path)?.set_len(*size)?,
            Kind::Link(target) => return system::link(target, &path),
            Kind::Directory => return system::directory(&path),
            Kind::Fifo => return system::fifo(&path),
            Kind::Socket => return system::socket(&path),
        }
        system::set_mode(&path, self.mode)
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
