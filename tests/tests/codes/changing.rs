//! What changes under a call's hands: `changed` and `timed-out`.

use super::{Earned, KEY, mapped};
use keyhole_tests::{PATIENCE, Session, SetOnDrop, World};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    fs::File,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Instant, SystemTime},
};

/// A file that is being touched while it is read.
pub(super) fn touched(world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2 ".repeat(1 << 16))
        .map(mapped("hunter2.md"));
    let path = world.path("hunter2.md");
    let file = File::options().write(true).open(path).unwrap();
    let touch = || file.set_modified(SystemTime::now()).unwrap();
    meanwhile(world, touch, "changed")
}

/// A file that changes places with a FIFO. Now and then it is a file when the
/// guest looks and a FIFO when it opens it, and that waits for a writer for ever.
pub(super) fn swapped(world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2")
        .map(mapped("hunter2.md"));
    let (file, fifo) = (world.path("hunter2.md"), world.path("fifo"));
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let swap = || renameat_with(CWD, &file, CWD, &fifo, RenameFlags::EXCHANGE).unwrap();
    meanwhile(world, swap, "timed-out")
}

/// Does `change` over and over, and calls again and again until one is refused
/// with `code`. Gives the documents and that refusal.
fn meanwhile(world: World, change: impl Fn() + Sync, code: &str) -> Earned {
    let mut session = world.client();
    let done = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                change();
            }
        });
        let _done = SetOnDrop(&done);
        until(code, &mut session)
    });
    Earned {
        world,
        session,
        answers,
    }
}

fn until(code: &str, session: &mut Session) -> Vec<keyhole_tests::Answer> {
    let began = Instant::now();
    let mut kept = Vec::new();
    while began.elapsed() < PATIENCE {
        let answer = session.load(KEY);
        if answer.code() == Some(code) {
            kept.push(answer);
            return kept;
        }
        // Other refusals do not matter here.
        if answer.text().is_some() {
            kept.push(answer);
        }
    }
    panic!("nothing was refused with {code}");
}
