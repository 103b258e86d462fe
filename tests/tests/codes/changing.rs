//! What takes time to earn: `changed`, `timed-out` and `busy`.

use super::Client;
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
pub(super) fn written(client: &mut Client) -> Answer {
    let writer = writer(&client.world);
    while_repeating(writer, || until("changed", || client.load()))
}

/// A call that waits for a file to settle while the whole server is stopped,
/// for longer than a call may take. A laptop's sleep has the same effect.
pub(super) fn stopped(client: &mut Client) -> Answer {
    let writer = writer(&client.world);
    let call = || {
        let opens = Opens::of(&client.world.path("hunter2.md"));
        let call = client.call();
        // The call gives up a second later.
        opens.wait();
        client.session.signal(Signal::STOP);
        thread::sleep(Limits::default().deadline + Duration::from_millis(200));
        client.session.signal(Signal::CONT);
        client.session.answer(call)
    };
    while_repeating(writer, || until("timed-out", call))
}

/// Writes to the file: no two readings of it are the same.
fn writer(world: &World) -> impl FnMut() + Send + use<> {
    let path = world.path("hunter2.md");
    let file = File::options().write(true).open(path).unwrap();
    let mut version = 0_u64;
    move || {
        let text = format!("{MARKER} {version:020}");
        file.write_all_at(text.as_bytes(), 0).unwrap();
        version += 1;
        // Others do so at the same time: one that never slept would have to wait.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Calls again and again until one is refused with `code`. On a busy machine, the writer may sleep
/// through a part of each of many calls.
fn until(code: &str, mut call: impl FnMut() -> Answer) -> Answer {
    let began = Instant::now();
    loop {
        let answer = call();
        if answer.code() == Some(code) {
            return answer;
        }
        assert!(
            began.elapsed() < 4 * PATIENCE,
            "nothing was refused with {code}"
        );
    }
}

/// More calls than may run and wait. The client reads nothing until all are sent, and a document
/// is larger than the pipe back: so each call that runs waits for the client.
pub(super) fn crowded(client: &mut Client) -> Answer {
    // The test reads standard output only once it waits for the first answer.
    let hello = client.session.begin();
    let ids: Vec<u64> = (0..400)
        .map(|_| {
            let mut params = client.params();
            // So the pipe to the server cannot hold them: once all are sent, the server has
            // read all but the last 64 KiB, some 30 of them.
            params["_meta"]["padding"] = "x".repeat(2000).into();
            client.session.ask("tools/call", params)
        })
        .collect();
    let _ = client.session.answer(hello);
    let answers = ids.into_iter().map(|id| client.session.answer(id));
    let busy = answers.filter(|answer| answer.code() == Some("busy"));
    busy.last().expect("too many calls")
}
