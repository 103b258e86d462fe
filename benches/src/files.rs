//! The files and maps that the servers serve.

use keyhole_core::{Grant, limits::DEFAULT_MAX_BYTES};
use keyhole_tree::Tree;
use keyhole_walk::{Policy, RECENT, System, WalkError, Walker};
use std::{
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

/// The sizes of the two files, in bytes.
pub const SMALL: usize = 1 << 10;
/// That of the other one.
pub const LARGE: usize = 1 << 20;

/// Their keys. The others in a map are of the same form.
pub const SMALL_KEY: &str = "k-small-2c1f8a96d0e34b57";
/// That of the other one.
pub const LARGE_KEY: &str = "k-large-91b05de2c47a83f6";

/// Their names.
pub const SMALL_NAME: &str = "small.md";
/// That of the other one.
pub const LARGE_NAME: &str = "large.md";

/// How many keys the larger map has: nearly as many as a map may have.
pub const MANY: usize = 10_000;

/// A folder with all that the servers serve. Drop removes it.
#[derive(Debug)]
pub struct Files {
    _tree: Tree,
    home: PathBuf,
}

impl Files {
    /// The files, in a new folder.
    #[expect(clippy::new_without_default, reason = "it makes files")]
    #[must_use]
    pub fn new() -> Self {
        let tree = Tree::empty();
        // Without the slash.
        let home: PathBuf = tree.path("").components().collect();
        tree.write(SMALL_NAME, text(SMALL));
        tree.write(LARGE_NAME, text(LARGE));
        for keys in [10, MANY] {
            tree.write(&map_name(keys), map_of(&home, keys));
        }
        Self { _tree: tree, home }
    }

    /// Waits until Keyhole opens the files at once. Until then it looks at them twice.
    #[must_use]
    pub fn at_rest(self) -> Self {
        sleep(RECENT + Duration::from_secs(1));
        self
    }

    /// The folder, by its real path: a server that guards a folder may insist on that.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The small file.
    #[must_use]
    pub fn small(&self) -> PathBuf {
        self.home.join(SMALL_NAME)
    }

    /// The large file.
    #[must_use]
    pub fn large(&self) -> PathBuf {
        self.home.join(LARGE_NAME)
    }

    /// The map of this many keys: 10, or [`MANY`].
    #[must_use]
    pub fn map(&self, keys: usize) -> PathBuf {
        self.home.join(map_name(keys))
    }
}

/// The right to read one file of a folder.
pub fn grant(folder: &Path, name: &str) -> Result<Grant, WalkError> {
    let folder = Walker::new(System).walk(folder, Policy::Directory)?;
    Ok(Grant {
        directory: folder.handle,
        name: name.to_owned(),
        max_bytes: DEFAULT_MAX_BYTES,
    })
}

/// Exactly this many bytes that look like a Markdown list: with line ends, and with
/// quotes, which JSON has to escape.
fn text(bytes: usize) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= bytes {
            break;
        }
        text +=
            &format!("- Jane Q. Example {line}, called \"JQ\", 12 Sample Street, Springfield\n");
    }
    text.truncate(bytes);
    text
}

fn map_name(keys: usize) -> String {
    format!("map-{keys}.toml")
}

/// The text of a map of this many keys, those of both files among them.
fn map_of(home: &Path, keys: usize) -> String {
    let root = home.display();
    let mut map = format!(
        "roots = [\"{root}\"]\n[keys]\n\"{SMALL_KEY}\" = \"{SMALL_NAME}\"\n\"{LARGE_KEY}\" = \"{LARGE_NAME}\"\n"
    );
    for key in 2..keys {
        map += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
    }
    map
}
