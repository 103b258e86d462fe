//! Files that change during a call: `changed` and `timed-out`.

use super::{Client, Earned, Surface, mapped};
use crate::opens::Opens;
use keyhole_core::limits::Limits;
use keyhole_tests::{Answer, MARKER, PATIENCE, World, while_repeating};
use rustix::process::Signal;
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    thread,
    time::{Duration, Instant},
};

/// A file that somebody writes to while it is read.
pub(super) fn written(surface: Surface, world: World) -> Earned {
    meanwhile(surface, world, |client| until("changed", || client.load()))
}

/// A call that waits for a file to come to rest while the whole server is stopped,
/// for longer than a call may take. A laptop's sleep has the same effect.
pub(super) fn stopped(surface: Surface, world: World) -> Earned {
    meanwhile(surface, world, |client| {
        until("timed-out", || {
            let opens = Opens::of(&client.world.path("hunter2.md"));
            let call = client.call();
            // The call gives up a second later.
            opens.wait();
            client.session.signal(Signal::STOP);
            thread::sleep(Limits::default().deadline + Duration::from_millis(200));
            client.session.signal(Signal::CONT);
            client.session.answer(call)
        })
    })
}

/// Makes `calls` while somebody writes to the file: no two readings of it are the same.
fn meanwhile(
    surface: Surface,
    world: World,
    calls: impl FnOnce(&mut Client) -> Vec<Answer>,
) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let path = world.path("hunter2.md");
    let file = File::options().write(true).open(path).unwrap();
    let mut client = Client::of(surface, surface.of(world));
    let mut version = 0_u64;
    let write = || {
        let text = format!("{MARKER} {version:020}");
        file.write_all_at(text.as_bytes(), 0).unwrap();
        version += 1;
        // Many tests do so at once: one that never slept would have to wait.
        thread::sleep(Duration::from_millis(1));
    };
    let answers = while_repeating(write, || calls(&mut client));
    (client, answers)
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
