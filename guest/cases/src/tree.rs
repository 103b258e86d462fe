//! The files of a case.

use crate::text::Text;
use serde::Deserialize;
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

#[cfg(unix)]
#[path = "tree_unix.rs"]
pub(crate) mod system;
#[cfg(windows)]
#[path = "tree_windows.rs"]
pub(crate) mod system;

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

/// A kind of object without content.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Make {
    Directory,
    Fifo,
    Socket,
}

impl Entry {
    /// The content that it will have, if it is a file.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        match (&self.text, &self.hex, self.size) {
            (Some(text), None, None) => Some(text.0.clone().into_bytes()),
            (None, Some(hex), None) => Some(hex.unhex()),
            (None, None, Some(size)) => Some(vec![0; usize::try_from(size).ok()?]),
            _ => None,
        }
    }

    /// Creates it. Nobody but the user may change it, whatever the umask is: no engine
    /// should take it for a stranger's.
    pub(crate) fn create(&self, root: &Path) -> io::Result<()> {
        let path = root.join(&self.path.0);
        match (&self.link, self.make) {
            (Some(target), None) => return system::link(target.0.as_ref(), &path),
            (None, Some(Make::Directory)) => return system::directory(&path),
            (None, Some(Make::Fifo)) => return system::fifo(&path),
            (None, Some(Make::Socket)) => return system::socket(&path),
            _ => {}
        }
        let mut file = fs::File::create_new(&path)?;
        match self.size {
            // It is sparse: it takes no space.
            Some(size) => file.set_len(size)?,
            None => file.write_all(&self.content().unwrap())?,
        }
        system::set_mode(&path, self.mode)
    }
}
