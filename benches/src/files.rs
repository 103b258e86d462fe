//! The files and maps that the servers serve.

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

/// How many keys the maps have. The last one is as large as a map may be, nearly.
pub const KEYS: [usize; 3] = [10, 1_000, 10_000];

/// A folder with all that the servers serve. Drop removes it.
#[derive(Debug)]
pub struct Files {
    _temp: TempDir,
    home: PathBuf,
    made: Instant,
}

impl Files {
    /// The files, in a new folder.
    ///
    /// # Errors
    /// As the system says.
    pub fn new() -> io::Result<Self> {
        Self::beneath(0)
    }

    /// The files, this many folders further down.
    ///
    /// # Errors
    /// As the system says.
    pub fn beneath(folders: usize) -> io::Result<Self> {
        let temp = tempfile::tempdir()?;
        // Its real path, because a server that guards a folder may insist on that.
        let mut home = fs::canonicalize(temp.path())?;
        home.extend((0..folders).map(|_| "folder"));
        // Nobody else may change what is served, whatever the umask is.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&home)?;
        write(&home.join(SMALL_NAME), &text(SMALL))?;
        write(&home.join(LARGE_NAME), &text(LARGE))?;
        for keys in KEYS {
            write(&map_in(&home, keys), &map_of(keys))?;
        }
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

    /// The map of this many keys: one of [`KEYS`].
    #[must_use]
    pub fn map(&self, keys: usize) -> PathBuf {
        map_in(&self.home, keys)
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

fn map_in(home: &Path, keys: usize) -> PathBuf {
    home.join(format!("map-{keys}.toml"))
}

/// The text of a map of this many keys, [`SMALL_KEY`] and [`LARGE_KEY`] among them.
#[must_use]
pub fn map_of(keys: usize) -> String {
    let mut map =
        format!("[keys]\n\"{SMALL_KEY}\" = \"{SMALL_NAME}\"\n\"{LARGE_KEY}\" = \"{LARGE_NAME}\"\n");
    for key in 2..keys {
        map += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
    }
    map
}
