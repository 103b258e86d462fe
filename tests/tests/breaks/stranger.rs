//! Another user: what they own, and what they do with it.

use keyhole_tests::{World, skipped};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    process::geteuid,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// A user who is neither root nor the one who runs the server, and who has no name.
pub(super) const STRANGER: u32 = 54_321;

/// Whether the test can run here: only root can give files away.
pub(super) fn can_be(test: &str) -> bool {
    let can = geteuid().is_root();
    if !can {
        skipped(test, "only root can act as two users");
    }
    can
}

/// A directory outside of the home, which the stranger owns and all may enter.
pub(super) fn directory(world: &World, name: &str) -> PathBuf {
    let path = world.outside(name);
    fs::create_dir(&path).unwrap();
    give(&path);
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// Gives a file or directory to the stranger.
pub(super) fn give(path: &Path) {
    chown(path, Some(STRANGER), Some(STRANGER)).unwrap();
}

/// Exchanges two names as fast as it can, until it is dropped. The number of
/// exchanges is even, so that everything ends where it began.
pub(super) struct Flip {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flip {
    pub(super) fn start(a: PathBuf, b: PathBuf) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let done = Arc::clone(&done);
            move || {
                let exchange = || renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
                while !done.load(Ordering::Relaxed) {
                    exchange();
                    exchange();
                }
            }
        });
        Self {
            done,
            thread: Some(thread),
        }
    }
}

impl Drop for Flip {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}
