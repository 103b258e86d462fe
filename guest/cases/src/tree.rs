//! The files of a case.

use crate::text::Text;
use serde::Deserialize;
use std::{
    fs,
    io::{self, Write},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

/// Something to create below a case's directory: a file with a text, bytes or a size, or
/// something else.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Relative to the preopened directory; at most one `..`, at its beginning.
    pub(crate) path: Text,
    text: Option<Text>,
    hex: Option<Text>,
    size: Option<u64>,
    link: Option<Text>,
    make: Option<Make>,
    mode: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Make {
    Directory,
    Fifo,
    Socket,
}

impl Entry {
    /// The content that this entry will have, if it is a file: its text, its bytes, or as many
    /// zeros as its size says. None for a link, a directory and the like.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        match (&self.text, &self.hex, self.size) {
            (Some(text), None, None) => Some(text.0.clone().into_bytes()),
            (None, Some(hex), None) => Some(hex.unhex()),
            (None, None, Some(size)) => Some(vec![0; usize::try_from(size).ok()?]),
            _ => None,
        }
    }

    /// Creates this entry below `root`: a link, a directory, a FIFO, a socket or a file. Nobody but
    /// the user may change a file, whatever the umask is, unless the entry has a `mode`: so an
    /// engine trusts the file.
    pub(crate) fn create(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.path.0);
        match (&self.link, self.make) {
            (Some(target), None) => return symlink(&target.0, &path),
            (None, Some(Make::Directory)) => return directory(&path),
            (None, Some(Make::Fifo)) => {
                keyhole_tree::fifo(&path);
                return Ok(());
            }
            // The name stays after the listener is closed.
            (None, Some(Make::Socket)) => return UnixListener::bind(&path).map(drop),
            _ => {}
        }
        let mut file = fs::File::create_new(&path)?;
        match self.size {
            // The file is sparse, so it takes no space.
            Some(size) => file.set_len(size)?,
            None => file.write_all(&self.content().unwrap())?,
        }
        let mode = self.mode.unwrap_or(0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    }
}

pub(crate) fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}
