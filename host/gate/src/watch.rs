//! The hooks' limit of time. The client lets a call pass if a hook takes too long, so a thread
//! answers before that, whatever else is going on.

use keyhole_claude::hook::HookError;
use keyhole_serve::guard::write_answer;
use serde_json::Value;
use std::{
    mem, process,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// Whoever answers keeps it, so that nobody else can.
static ANSWER: Mutex<()> = Mutex::new(());

/// Writes the hook's answer, unless there is one already: then the process is about to end, and
/// this waits for that.
///
/// # Errors
/// If the answer cannot be written.
pub(crate) fn answer_once(answer: &Value) -> Result<(), HookError> {
    let held = ANSWER.lock();
    mem::forget(held);
    write_answer(answer)
}

/// Starts a thread that gives this answer and ends the process, `longest` after `start`. The wall
/// needs a process with one thread, so behind it, the thread starts later than the wall.
pub(crate) fn watch(start: Instant, longest: Duration, late: Value) {
    let left = longest.saturating_sub(start.elapsed());
    // Without a thread, the other limits still hold.
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(left);
        let written = answer_once(&late);
        process::exit(i32::from(written.is_err()));
    });
}
