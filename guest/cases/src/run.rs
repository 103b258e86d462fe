//! Runs every case in one engine.

use crate::{Case, cases};
use keyhole_tree::say;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process, str,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How long one case may take. A case takes milliseconds; this limit is for an engine
/// that waits for the writer of a FIFO, and would wait for ever.
const HANG: Duration = Duration::from_secs(120);

/// How many cases run at once. Most of a case is waiting: a file that was just made has to
/// settle.
const AT_ONCE: usize = 8;

/// Runs every case of the table in `engine`, each with its files in a directory of its
/// own. `run` gets the case, and the directory to preopen if the case has one; it returns
/// the answer's bytes, or the contract's name of the error (`not-found`). If the bytes are
/// no text, the case's result is `not-utf8`, as the host's would be. Prints how many cases
/// ran.
pub fn run_all<A: Into<Vec<u8>>>(
    engine: &str,
    run: impl Fn(&Case, Option<&Path>) -> Result<A, String> + Sync,
) {
    let cases = cases();
    let check_every = |from: usize| -> Vec<String> {
        let mine = cases.iter().skip(from).step_by(AT_ONCE);
        mine.filter_map(|case| {
            let watched = Watch::start(engine, case.name());
            let failure = check(case, &run);
            drop(watched);
            failure.map(|failure| format!("- {}\n    {failure}", case.name()))
        })
        .collect()
    };
    let failures: Vec<String> = thread::scope(|threads| {
        let check_every = &check_every;
        let started: Vec<_> = (0..AT_ONCE)
            .map(|from| threads.spawn(move || check_every(from)))
            .collect();
        let ended = started.into_iter().map(|thread| thread.join().unwrap());
        ended.flatten().collect()
    });
    say(format_args!("{engine}: {} cases ran", cases.len()));
    assert!(
        failures.is_empty(),
        "{engine}: {} of {} cases failed\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n"),
    );
}

/// Runs one case in a directory of its own. Returns what is wrong, for example
/// `expected "a", got the error not-found`. None if what came back is what the case expects. An
/// answer that is not UTF-8 counts as the error `not-utf8`.
fn check<A: Into<Vec<u8>>>(
    case: &Case,
    run: &impl Fn(&Case, Option<&Path>) -> Result<A, String>,
) -> Option<String> {
    let fresh = tempfile::tempdir().expect("a temporary directory");
    let root = match case.build(fresh.path()) {
        Ok(root) => root,
        Err(error) => return Some(format!("its files could not be made: {error}")),
    };
    let Ok(got) = catch_unwind(AssertUnwindSafe(|| run(case, root.as_deref()))) else {
        return Some("the engine panicked, see above".into());
    };
    let got = match got.map(A::into) {
        Ok(bytes) if str::from_utf8(&bytes).is_err() => Err("not-utf8".to_owned()),
        got => got,
    };
    let expected = case.expected().map_err(str::to_owned);
    (got != expected).then(|| {
        let why = case.why().map(|why| format!("\n    {why}"));
        format!(
            "expected {}, got {}{}",
            show(&expected),
            show(&got),
            why.unwrap_or_default()
        )
    })
}

/// An outcome as a failed test shows it: the error's name, or the bytes, of which at most 60 are
/// shown.
fn show(outcome: &Result<Vec<u8>, String>) -> String {
    const SHOWN: usize = 60;
    match outcome {
        Err(name) => format!("the error {name}"),
        Ok(bytes) if bytes.len() <= SHOWN => format!("\"{}\"", bytes.escape_ascii()),
        Ok(bytes) => format!(
            "{} bytes, \"{}\"...",
            bytes.len(),
            bytes[..SHOWN].escape_ascii()
        ),
    }
}

/// Ends the process if it is not dropped within [`HANG`].
struct Watch(#[expect(dead_code, reason = "held for its drop")] mpsc::Sender<()>);

impl Watch {
    fn start(engine: &str, case: &str) -> Self {
        let (sender, receiver) = mpsc::channel();
        let hung = format!("{engine}: the case hangs: {case}");
        thread::spawn(move || {
            if receiver.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                say(&hung);
                process::abort();
            }
        });
        Self(sender)
    }
}
