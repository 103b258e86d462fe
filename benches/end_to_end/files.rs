//! The files and maps that the servers serve.

use serde_json::json;
use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The sizes of the two files, in bytes.
pub(crate) const SMALL: usize = 1 << 10;
pub(crate) const LARGE: usize = 1 << 20;

/// Their keys. The others in a map are of the same form.
pub(crate) const SMALL_KEY: &str = "k-small-2c1f8a96d0e34b57";
pub(crate) const LARGE_KEY: &str = "k-large-91b05de2c47a83f6";

/// Their names.
pub(crate) const SMALL_NAME: &str = "small.md";
pub(crate) const LARGE_NAME: &str = "large.md";

/// How many keys the maps have.
pub(crate) const KEYS: [usize; 3] = [10, 1_000, 100_000];

/// A folder with all that the servers serve. Drop removes it.
pub(crate) struct Files {
    home: TempDir,
}

impl Files {
    pub(crate) fn new() -> io::Result<Self> {
        let files = Self {
            home: tempfile::tempdir()?,
        };
        fs::write(files.small(), text(SMALL))?;
        fs::write(files.large(), text(LARGE))?;
        for keys in KEYS {
            let map = files.map(keys);
            fs::write(&map, map_of(keys))?;
            fs::set_permissions(&map, fs::Permissions::from_mode(0o600))?;
        }
        Ok(files)
    }

    /// Its real path, because a server that guards a folder may insist on that.
    pub(crate) fn home(&self) -> PathBuf {
        let home = self.home.path();
        fs::canonicalize(home).unwrap_or_else(|_| home.to_owned())
    }

    pub(crate) fn small(&self) -> PathBuf {
        self.home().join(SMALL_NAME)
    }

    pub(crate) fn large(&self) -> PathBuf {
        self.home().join(LARGE_NAME)
    }

    pub(crate) fn map(&self, keys: usize) -> PathBuf {
        self.home().join(format!("map-{keys}.toml"))
    }

    /// What hyper-mcp is told: its one plugin, and that the plugin may read here.
    pub(crate) fn hyper(&self) -> PathBuf {
        self.home().join("hyper-mcp.json")
    }

    pub(crate) fn tell_hyper(&self, plugin: &Path) -> io::Result<()> {
        let url = format!("file://{}", plugin.display());
        let may = json!({ "allowed_paths": [format!("{}:/", self.home().display())] });
        let told = json!({ "plugins": { "files": { "url": url, "runtime_config": may } } });
        fs::write(self.hyper(), told.to_string())
    }
}

/// Exactly this many bytes that look like a Markdown list: with line ends, and with
/// quotes, which JSON has to escape.
fn text(bytes: usize) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!(
            "- Jane Q. Example {line}, called \"JQ\", 12 Sample Street, Springfield\n"
        ));
    }
    text.truncate(bytes);
    text
}

fn map_of(keys: usize) -> String {
    let mut map =
        format!("[keys]\n\"{SMALL_KEY}\" = \"{SMALL_NAME}\"\n\"{LARGE_KEY}\" = \"{LARGE_NAME}\"\n");
    for key in 2..keys {
        map.push_str(&format!(
            "\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n"
        ));
    }
    map
}

/// The number of bytes in a file.
pub(crate) fn size(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|metadata| metadata.len())
}
