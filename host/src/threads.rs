//! Threads that may block, one for each call.
//!
//! tokio has such threads too, but it panics if the operating system refuses it the
//! first one. Here a refusal is an error, and the caller gets it.

use std::{
    collections::VecDeque,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How long a thread waits for work before it ends. The last thread stays.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A piece of work to run.
pub type Job = Box<dyn FnOnce() + Send>;

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
    more: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// The number of threads that wait for a job. A thread that was woken counts
    /// until it runs.
    idle: usize,
    closed: bool,
}

impl Threads {
    /// A pool of at most `most` threads. It creates none yet.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most,
            state: Mutex::default(),
            more: Condvar::new(),
        }))
    }

    /// Runs `job` on an idle thread or on a new one. If there are as many threads
    /// as allowed, the first one that is free runs it. A job that panics ends only
    /// itself.
    ///
    /// # Errors
    /// What the operating system says if it refuses the thread. The job is dropped.
    pub(crate) fn run(&self, job: Job) -> io::Result<()> {
        let mut state = self.0.lock();
        state.jobs.push_back(job);
        if state.jobs.len() <= state.idle {
            // The lock is released first: otherwise the woken thread would have to
            // wait for it.
            drop(state);
            self.0.more.notify_one();
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
        Ok(())
    }

    /// Runs jobs until the thread must end.
    fn work(&self) {
        while let Some(job) = self.next() {
            // The panic has printed its message, and whoever waits for the job
            // learns that it ended without a result.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// The next job. None means that this thread must end.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let (woken, waited) = self
                .more
                .wait_timeout(state, KEEP_ALIVE)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() && state.threads > 1 {
                state.threads -= 1;
                return None;
            }
        }
    }
}

impl Drop for Threads {
    /// Does not wait for the threads: some may hang.
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.more.notify_all();
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
    use std::{panic::resume_unwind, sync::mpsc::channel};

    #[test]
    fn a_job_never_waits_for_one_that_hangs() {
        let threads = Threads::new(2);
        let (release, hung) = channel::<()>();
        threads.run(Box::new(move || _ = hung.recv())).unwrap();
        for number in 0..100 {
            let (tell, told) = channel();
            let job = move || tell.send(number).unwrap();
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
            let job = move || match number % 2 {
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
