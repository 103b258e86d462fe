//! Files that change during a call: `changed` and `timed-out`.

use super::{Earned, KEY, mapped};
use keyhole::limits::Limits;
use keyhole_tests::{Answer, PATIENCE, Session, SetOnDrop, World};
use rustix::process::Signal;
use std::{
    fs::File,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// A file that somebody touches while it is read.
pub(super) fn touched(world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2 ".repeat(1 << 16))
        .map(mapped("hunter2.md"));
    let path = world.path("hunter2.md");
    let file = File::options().write(true).open(path).unwrap();
    let touch = || file.set_modified(SystemTime::now()).unwrap();
    meanwhile(world, touch, |session| {
        until("changed", || session.load(KEY))
    })
}

/// A call that waits for a file to come to rest while the whole server is stopped,
/// for longer than a call may take. A laptop's sleep has the same effect.
pub(super) fn stopped(world: World) -> Earned {
    // An empty file must be left alone for longest. So it does not come to rest even
    // on a busy machine, where the thread that touches it may pause.
    let world = world.file("hunter2.md", "").map(mapped("hunter2.md"));
    let path = world.path("hunter2.md");
    let file = File::options().write(true).open(path).unwrap();
    let touch = || file.set_modified(SystemTime::now()).unwrap();
    meanwhile(world, touch, |session| {
        until("timed-out", || {
            let call = session.call(KEY);
            // The call gives up after a second.
            thread::sleep(Duration::from_millis(200));
            session.signal(Signal::STOP);
            thread::sleep(Limits::default().deadline + Duration::from_millis(200));
            session.signal(Signal::CONT);
            session.answer(call)
        })
    })
}

/// Does `change` over and over while `calls` are made.
fn meanwhile(
    world: World,
    change: impl Fn() + Sync,
    calls: impl FnOnce(&mut Session) -> Vec<Answer>,
) -> Earned {
    let mut session = world.client();
    let done = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                change();
            }
        });
        let _done = SetOnDrop(&done);
        calls(&mut session)
    });
    Earned {
        world,
        session,
        answers,
    }
}

/// Calls again and again until one is refused with `code`. Returns the documents and
/// that refusal.
fn until(code: &str, mut call: impl FnMut() -> Answer) -> Vec<Answer> {
    let began = Instant::now();
    let mut kept = Vec::new();
    while began.elapsed() < PATIENCE {
        let answer = call();
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
