//! Threads that may block, one for each call.
//!
//! tokio has such threads too, but it panics if the operating system refuses it the
//! first one. Here a refusal is an error, and the caller gets it.

use std::{
    cell::Cell,
    collections::VecDeque,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How long a thread waits for work before it ends. The last thread stays.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A piece of work to run. It may call what it gets, once, to say that its thread will soon
/// be free: what is left to do computes a little, and waits for nothing. The next job may
/// then wait for this thread. It has warm caches, and no other thread has to be woken.
/// A job that others cannot do without, such as the loading of the sandbox, may say so first.
pub type Job = Box<dyn FnOnce(&dyn Fn()) + Send>;

/// Runs jobs that may block, at the same time. For a user's files, this is [`Threads`];
/// tests choose the moment at which each job runs.
#[doc(hidden)]
pub trait Runner: Send + Sync + 'static {
    /// Starts `job` soon, and does not wait for it to end.
    ///
    /// # Errors
    /// What the operating system says if it refuses a thread. The job is dropped.
    fn run(&self, job: Job) -> io::Result<()>;
}

impl Runner for Threads {
    fn run(&self, job: Job) -> io::Result<()> {
        Self::run(self, job)
    }
}

/// Threads that are created when needed, and used again.
pub(crate) struct Threads(Arc<Shared>);

struct Shared {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// What wakes each thread that waits for a job. The last one came last, and is woken
    /// first: its caches are warm, and what it has prepared for a call is in them.
    idle: Vec<Arc<Condvar>>,
    /// The number of threads that will soon look for a job: new ones, those that were
    /// woken, and those whose job has said so.
    coming: usize,
    closed: bool,
}

impl Threads {
    /// A pool of at most `most` threads. It creates none yet.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most,
            state: Mutex::default(),
        }))
    }

    /// Runs `job` on a thread that is idle or will soon be free, or on a new one. If there
    /// are as many threads as allowed, the first one that is free runs it. A job that
    /// panics ends only itself.
    ///
    /// # Errors
    /// What the operating system says if it refuses the thread. The job is dropped.
    pub(crate) fn run(&self, job: Job) -> io::Result<()> {
        let mut state = self.0.lock();
        state.jobs.push_back(job);
        if state.jobs.len() <= state.coming {
            return Ok(());
        }
        if let Some(idle) = state.idle.pop() {
            state.coming += 1;
            // The lock is released first: otherwise the woken thread would have to
            // wait for it.
            drop(state);
            idle.notify_one();
            return Ok(());
        }
        if state.threads >= self.0.most {
            return Ok(());
        }
        let spawned = self.0.spawn(&mut state);
        // The lock was held all the time, so the last job is this one.
        let refused = spawned.is_err().then(|| state.jobs.pop_back());
        drop(state);
        drop(refused);
        spawned
    }

    /// How many threads there are.
    #[cfg(all(test, unix))]
    pub(crate) fn number(&self) -> usize {
        self.0.lock().threads
    }
}

impl Shared {
    /// Ignores poisoning: no job runs, or panics, while the lock is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new()
            .name("call".to_owned())
            .spawn(move || shared.work())?;
        state.threads += 1;
        state.coming += 1;
        Ok(())
    }

    /// Runs jobs until the thread must end.
    fn work(&self) {
        let more = Arc::new(Condvar::new());
        let coming = Cell::new(true);
        let soon_free = || {
            if !coming.replace(true) {
                self.lock().coming += 1;
            }
        };
        while let Some(job) = self.next(&more, coming.replace(false)) {
            // The panic has printed its message, and whoever waits for the job
            // learns that it ended without a result.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&soon_free)));
        }
    }

    /// The next job, for a thread that `more` wakes, and that counts as `coming` or not.
    /// None means that it must end.
    fn next(&self, more: &Arc<Condvar>, mut coming: bool) -> Option<Job> {
        let mut state = self.lock();
        loop {
            state.coming -= usize::from(coming);
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                state.threads -= 1;
                return None;
            }
            state.idle.push(Arc::clone(more));
            let (woken, waited) = more
                .wait_timeout(state, KEEP_ALIVE)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            // Whoever woke this thread has taken it from the list, and counts on it.
            let waits = state.idle.iter().position(|idle| Arc::ptr_eq(idle, more));
            waits.map(|place| state.idle.remove(place));
            coming = waits.is_none();
            if waited.timed_out() && !coming && state.threads > 1 {
                state.threads -= 1;
                return None;
            }
        }
    }
}

impl Drop for Threads {
    /// Does not wait for the threads: some may hang.
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        for idle in &state.idle {
            idle.notify_one();
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::Threads;
    use std::{
        panic::resume_unwind,
        sync::mpsc::channel,
        thread::{current, yield_now},
    };

    /// Two threads, and both idle.
    fn two_idle() -> Threads {
        let threads = Threads::new(2);
        let (release, hung) = channel::<()>();
        threads.run(Box::new(move |_| _ = hung.recv())).unwrap();
        threads.run(Box::new(|_| {})).unwrap();
        drop(release);
        until_idle(&threads, 2);
        threads
    }

    fn until_idle(threads: &Threads, number: usize) {
        while threads.0.lock().idle.len() < number {
            yield_now();
        }
    }

    #[test]
    fn the_thread_that_has_just_become_idle_is_woken_first() {
        let threads = two_idle();
        let mut ran = Vec::new();
        for _ in 0..10 {
            let (tell, told) = channel();
            let job = move |_: &dyn Fn()| tell.send(current().id()).unwrap();
            threads.run(Box::new(job)).unwrap();
            ran.push(told.recv().unwrap());
            until_idle(&threads, 2);
        }
        assert!(ran.iter().all(|thread| *thread == ran[0]), "{ran:?}");
    }

    #[test]
    fn a_job_waits_for_a_thread_that_is_soon_free_and_the_next_one_does_not() {
        let threads = two_idle();
        let (tell, told) = channel();
        let (release, busy) = channel::<()>();
        let first = tell.clone();
        let job = move |soon_free: &dyn Fn()| {
            soon_free();
            // Once more is not another thread.
            soon_free();
            first.send(current().id()).unwrap();
            busy.recv().unwrap();
        };
        threads.run(Box::new(job)).unwrap();
        let first = told.recv().unwrap();
        for _ in 0..2 {
            let tell = tell.clone();
            let job = move |_: &dyn Fn()| tell.send(current().id()).unwrap();
            threads.run(Box::new(job)).unwrap();
        }
        // Only for the second job of the two was a thread woken. It may do both.
        assert_ne!(told.recv().unwrap(), first);
        release.send(()).unwrap();
        told.recv().unwrap();
        until_idle(&threads, 2);
        assert_eq!(threads.0.lock().coming, 0);
    }

    #[test]
    fn a_job_never_waits_for_one_that_hangs() {
        let threads = Threads::new(2);
        let (release, hung) = channel::<()>();
        threads.run(Box::new(move |_| _ = hung.recv())).unwrap();
        for number in 0..100 {
            let (tell, told) = channel();
            let job = move |_: &dyn Fn()| tell.send(number).unwrap();
            threads.run(Box::new(job)).unwrap();
            assert_eq!(told.recv(), Ok(number));
        }
        drop(release);
    }

    #[test]
    fn threads_are_used_again_and_a_panic_costs_none() {
        let threads = Threads::new(3);
        for number in 0..100 {
            let (tell, told) = channel();
            let job = move |_: &dyn Fn()| match number % 2 {
                0 => tell.send(()).unwrap(),
                // A panic, without its message.
                _ => resume_unwind(Box::new(())),
            };
            threads.run(Box::new(job)).unwrap();
            assert_eq!(told.recv().is_ok(), number % 2 == 0);
        }
        assert!(threads.0.lock().threads <= 3);
    }
}
