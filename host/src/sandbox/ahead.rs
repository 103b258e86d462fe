//! What need not be done while a caller waits: making an instance before the call that
//! will use it, and wiping an instance after the answer of the call that used it.
//!
//! Each instance still serves one call and is then thrown away.

use super::{
    bindings::ContextLoaderPre,
    imports::CallState,
    instance::{Fresh, Used},
};
use crate::limits::Limits;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most instances that wait for a call, and the most that wait to be thrown away.
/// Each has a slot of the pool.
///
/// There is a slot for each thread that may run a call, and that is enough: a thread
/// needs one slot while it runs a call, throws an instance away, or makes one. An
/// instance that it has made keeps that slot, and its next call needs no other, because
/// a call takes an instance that is ready if there is one.
const READY: usize = 4;

/// Used instances that wait to be thrown away, and fresh ones that wait for a call.
#[derive(Default)]
pub(super) struct Ahead(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    fresh: Vec<Fresh>,
    used: Vec<Used>,
}

impl Ahead {
    /// An instance for a call, if one is ready.
    pub(super) fn take(&self) -> Option<Fresh> {
        self.lock().fresh.pop()
    }

    /// Keeps a used instance until [`Self::tidy`], which the same thread calls next. If
    /// there are [`READY`] already, it is thrown away at once.
    pub(super) fn keep(&self, used: Used) {
        let mut waiting = self.lock();
        if waiting.used.len() < READY {
            waiting.used.push(used);
            return;
        }
        drop(waiting);
        used.throw_away();
    }

    /// Throws a used instance away, and makes a new one. It takes only one at a time:
    /// with more, this thread would hold more than one slot.
    pub(super) fn tidy(&self, component: &ContextLoaderPre<CallState>, limits: Limits) {
        let used = self.lock().used.pop();
        used.into_iter().for_each(Used::throw_away);
        self.make(component, limits);
    }

    /// Makes an instance if there are too few. If that fails, the next call makes its
    /// own, and says why it cannot.
    pub(super) fn make(&self, component: &ContextLoaderPre<CallState>, limits: Limits) {
        if self.lock().fresh.len() >= READY {
            return;
        }
        if let Ok(fresh) = Fresh::ahead(component, limits) {
            self.lock().fresh.push(fresh);
        }
    }

    /// A panic elsewhere leaves the lists whole.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::READY;
    use crate::{
        code::Code,
        engine::SLOTS,
        grant::Grant,
        limits::Limits,
        sandbox::{Executor as _, Sandbox},
    };
    use cap_std::{ambient_authority, fs::Dir};
    use std::{
        fs,
        path::Path,
        sync::Barrier,
        thread,
        time::{Duration, Instant},
    };

    fn grant(directory: &Path) -> Option<Grant> {
        Some(Grant {
            directory: Dir::open_ambient_dir(directory, ambient_authority()).unwrap(),
            name: "note.md".to_owned(),
            max_bytes: 64,
        })
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// How many are fresh, and how many used.
    fn waiting(sandbox: &Sandbox) -> (usize, usize) {
        let waiting = sandbox.ahead.lock();
        (waiting.fresh.len(), waiting.used.len())
    }

    #[test]
    fn each_instance_serves_one_call_and_is_thrown_away_behind_it() {
        let sandbox = Sandbox::embedded(Limits::default()).unwrap();
        for _ in 0..3 * READY {
            assert_eq!(waiting(&sandbox), (1, 0));
            let answer = sandbox.call("k", None, soon());
            assert_eq!(answer, Err(Code::UnknownKey));
            // Whoever does not tidy up gets it thrown away at once.
            assert_eq!(waiting(&sandbox), (0, 0));
            sandbox.tidy();
        }
    }

    #[test]
    fn what_waits_to_be_thrown_away_holds_no_file_and_no_key() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("note.md"), "text").unwrap();
        let sandbox = &Sandbox::embedded(Limits::default()).unwrap();
        let executor: &dyn crate::sandbox::Executor = sandbox;
        let answer = executor.call("k", grant(directory.path()), soon());
        assert_eq!(answer.as_deref(), Ok("text"));
        assert!(sandbox.ahead.lock().used.iter().all(super::Used::is_empty));
        assert_eq!(waiting(sandbox), (0, 1));
        sandbox.tidy();
        assert_eq!(waiting(sandbox), (1, 0));
    }

    #[test]
    fn what_was_made_ahead_knows_no_key_and_has_no_grant_handle_or_deadline() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("note.md"), "text").unwrap();
        let sandbox = &Sandbox::embedded(Limits::default()).unwrap();
        let executor: &dyn crate::sandbox::Executor = sandbox;
        for _ in 0..3 {
            assert_eq!(waiting(sandbox), (1, 0));
            assert!(
                sandbox
                    .ahead
                    .lock()
                    .fresh
                    .iter()
                    .all(super::Fresh::is_empty)
            );
            let answer = executor.call("k", grant(directory.path()), soon());
            assert_eq!(answer.as_deref(), Ok("text"));
            // What was granted once is not for whoever comes next.
            sandbox.tidy();
            assert_eq!(executor.call("k", None, soon()), Err(Code::UnknownKey));
            sandbox.tidy();
        }
    }

    #[test]
    fn as_many_calls_as_there_are_slots_run_at_once_whatever_waits() {
        let sandbox = &Sandbox::embedded(Limits::default()).unwrap();
        let executor: &dyn crate::sandbox::Executor = sandbox;
        let threads = SLOTS as usize;
        let together = &Barrier::new(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(move || {
                    for round in 0..200 {
                        if round % 4 == 0 {
                            together.wait();
                        }
                        let answer = executor.call("k", None, soon());
                        // Anything else would be the want of a slot.
                        assert_eq!(answer, Err(Code::UnknownKey));
                        sandbox.tidy();
                    }
                });
            }
        });
        assert!(waiting(sandbox).0 <= threads);
        assert_eq!(waiting(sandbox).1, 0);
    }

    #[test]
    fn no_more_than_a_few_instances_wait_whoever_forgets_what() {
        let sandbox = Sandbox::embedded(Limits::default()).unwrap();
        let executor: &dyn crate::sandbox::Executor = &sandbox;
        // More than there are slots.
        for _ in 0..20 {
            let answer = executor.call("k", None, soon());
            assert_eq!(answer, Err(Code::UnknownKey));
        }
        assert_eq!(waiting(&sandbox), (0, READY));
        for _ in 0..3 * READY {
            sandbox.tidy();
        }
        assert_eq!(waiting(&sandbox), (READY, 0));
    }

    #[test]
    fn an_instance_that_was_made_ahead_has_its_deadline_from_its_call() {
        let sandbox = Sandbox::embedded(Limits::default()).unwrap();
        // Its engine's clock goes on.
        sandbox.interrupt();
        let late = Instant::now();
        assert_eq!(sandbox.call("k", None, late), Err(Code::TimedOut));
        sandbox.tidy();
        sandbox.interrupt();
        assert_eq!(sandbox.call("k", None, soon()), Err(Code::UnknownKey));
    }
}
