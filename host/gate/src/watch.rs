//! The limit of time of a hook that puts up no wall: a thread answers, whatever else is going on.

use keyhole_claude::hook::HookError;
use keyhole_serve::guard::write_answer;
use serde_json::Value;
use std::{mem, process, sync::Mutex, thread, time::Duration};

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

/// Starts a thread that gives this answer and ends the process after so long. The wall needs a
/// process with one thread, so [`gate`](crate::gate) has an alarm instead.
pub(crate) fn watch(longest: Duration, late: Value) {
    // Without a thread, the other limits still hold.
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(longest);
        let written = answer_once(&late);
        process::exit(i32::from(written.is_err()));
    });
}
