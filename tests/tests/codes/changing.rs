//! What changes all the time: `changed` and `timed-out`.

use super::{Earned, KEY, mapped};
use keyhole_tests::{Answer, PATIENCE, Session, World};
use std::{
    fs::{self, File},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Instant, SystemTime},
};

/// Calls that may run at once: see `keyhole::limits`.
const RUNNING: usize = 8;

/// A file that is being touched while it is read.
pub(super) fn file(world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2 ".repeat(1 << 16))
        .map(mapped("hunter2.md"));
    let mut session = world.client();
    let answers = while_touching(&world.path("hunter2.md"), || {
        until("changed", || vec![session.load(KEY)])
    });
    Earned {
        world,
        session,
        answers,
    }
}

/// A map that is being touched, so that it never comes to rest. A call waits for
/// it for a second, and then the next one does: with eight of them, the last
/// have been waiting for longer than any call may take.
pub(super) fn map(world: World) -> Earned {
    let world = world.map(mapped("hunter2.md"));
    let mut session = world.client();
    let answers = while_touching(&world.map_path(), || {
        until("timed-out", || at_once(&mut session))
    });
    Earned {
        world,
        session,
        answers,
    }
}

/// As many calls as may run at once.
fn at_once(session: &mut Session) -> Vec<Answer> {
    let ids: Vec<u64> = (0..RUNNING).map(|_| session.call(KEY)).collect();
    ids.into_iter().map(|id| session.answer(id)).collect()
}

/// Calls again and again until one is refused with `code`. Gives the documents
/// and that refusal; others do not matter here.
fn until(code: &str, mut calls: impl FnMut() -> Vec<Answer>) -> Vec<Answer> {
    let began = Instant::now();
    let mut kept = Vec::new();
    while began.elapsed() < PATIENCE {
        for answer in calls() {
            if answer.text().is_some() || answer.code() == Some(code) {
                kept.push(answer);
            }
        }
        if kept.iter().any(|answer| answer.text().is_none()) {
            return kept;
        }
    }
    panic!("nothing was refused with {code}");
}

/// Sets the file's modification time over and over while `then` runs.
fn while_touching<T>(path: &Path, then: impl FnOnce() -> T) -> T {
    let file = File::options().write(true).open(path).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Ends with the scope, or with the file.
            while !done.load(Ordering::Relaxed) && fs::exists(path).unwrap_or(false) {
                file.set_modified(SystemTime::now()).unwrap();
            }
        });
        let done = SetOnDrop(&done);
        let value = then();
        drop(done);
        value
    })
}

/// So that a test that fails does not touch for ever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
