//! The files that are served, and their map.

use cap_std::fs::Dir;
use keyhole_core::{Grant, limits::DEFAULT_MAX_BYTES};
use keyhole_walk::RECENT;
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The size of the small file, in bytes.
const SMALL: usize = 1 << 10;
/// The size of the large one.
pub const LARGE: usize = 1 << 20;

/// The small file's key.
pub const SMALL_KEY: &str = "k-small-2c1f8a96d0e34b57";
/// Its name.
pub const SMALL_NAME: &str = "small.md";
/// The large file's name.
pub const LARGE_NAME: &str = "large.md";

/// How many keys the map has.
const KEYS: usize = 10;

/// A folder with both files and the map. Drop removes it.
#[derive(Debug)]
pub struct Files {
    _temp: TempDir,
    home: PathBuf,
    made: Instant,
}

impl Files {
    /// The files, this many folders further down than a new one.
    ///
    /// # Errors
    /// As the system says.
    pub fn beneath(folders: usize) -> io::Result<Self> {
        let temp = tempfile::tempdir()?;
        let mut home = fs::canonicalize(temp.path())?;
        home.extend((0..folders).map(|_| "folder"));
        // Nobody else may change what is served, whatever the umask is.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&home)?;
        write(&home.join(SMALL_NAME), &text(SMALL))?;
        write(&home.join(LARGE_NAME), &text(LARGE))?;
        write(&home.join("map.toml"), &map())?;
        let made = Instant::now();
        Ok(Self {
            _temp: temp,
            home,
            made,
        })
    }

    /// Waits until Keyhole takes the files to be at rest. Until then it reads them twice.
    #[must_use]
    pub fn at_rest(self) -> Self {
        let wait = RECENT + Duration::from_secs(1);
        sleep(wait.saturating_sub(self.made.elapsed()));
        self
    }

    /// The folder.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// How many directories, `/` among them, lead to a file in it.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.home.components().count()
    }

    /// The map.
    #[must_use]
    pub fn map(&self) -> PathBuf {
        self.home.join("map.toml")
    }
}

/// The right to read one file of a folder.
///
/// # Errors
/// As the system says.
pub fn grant(folder: &Path, name: &str) -> io::Result<Grant> {
    Ok(Grant {
        directory: Dir::from_std_file(File::open(folder)?),
        name: name.to_owned(),
        max_bytes: DEFAULT_MAX_BYTES,
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
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

/// The text of the map. All but the small file's key are others'.
fn map() -> String {
    let mut map = format!("[keys]\n\"{SMALL_KEY}\" = \"{SMALL_NAME}\"\n");
    for key in 1..KEYS {
        map += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
    }
    map
}
