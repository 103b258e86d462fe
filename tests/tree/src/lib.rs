//! For tests: files in a directory of their own, such as a map and what it names; and what a
//! test says although it passes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    env,
    fmt::Display,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    thread,
};
use tempfile::TempDir;

/// Says a line, also in a test that passes: there the test harness hides what `eprintln!`
/// writes, but not this.
pub fn say(line: impl Display) {
    let line = format!("{line}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Says that the running test cannot run here, and why; also in the file that `./x test` counts.
/// The test harness gives each thread the name of its test.
pub fn skipped(why: impl Display) {
    let thread = thread::current();
    let line = format!("{}: {why}", thread.name().unwrap_or("a test"));
    say(format_args!("skipped: {line}"));
    if let Some(file) = env::var_os("KEYHOLE_SKIPPED") {
        let file = File::options().append(true).create(true).open(file);
        // In one write, since tests run beside each other.
        file.unwrap()
            .write_all(format!("  {line}\n").as_bytes())
            .unwrap();
    }
}

/// Such a directory. The map is `map.toml`, and need not be there.
#[derive(Debug)]
pub struct Tree(TempDir);

impl Tree {
    /// With nothing in it.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(&[])
    }

    /// With nothing in it, in a directory whose name begins so.
    #[must_use]
    pub fn named(prefix: &str) -> Self {
        Self(TempDir::with_prefix(prefix).unwrap())
    }

    /// With these files. Each contains its own name.
    #[must_use]
    pub fn of(files: &[&str]) -> Self {
        let tree = Self::named("");
        for file in files {
            tree.write(file, file);
        }
        tree
    }

    /// With this map.
    #[must_use]
    pub fn with(map: impl AsRef<[u8]>) -> Self {
        let tree = Self::empty();
        tree.write("map.toml", map);
        tree
    }

    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// The real path of something in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// The path of the map.
    #[must_use]
    pub fn map(&self) -> PathBuf {
        self.path("map.toml")
    }

    /// Writes a file that is the user's own, and makes its directories.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        private_directory(path.parent().unwrap());
        fs::write(&path, content).unwrap();
        self.mode(name, 0o600);
    }

    /// Sets a mode.
    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes a link, and its directories.
    pub fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.path(name);
        private_directory(path.parent().unwrap());
        symlink(target, path).unwrap();
    }
}

/// Makes a FIFO. The standard library cannot do this, and every Unix has `mkfifo`.
pub fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success(), "no FIFO");
}

/// Makes a directory, and those above it, that only the user may write to, whatever the umask.
pub fn private_directory(path: &Path) {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700).recursive(true).create(path).unwrap();
}
