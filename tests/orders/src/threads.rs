//! `threads.rs`: a job never waits for one that hangs, no job is lost, and the threads
//! end with the pool.

use crate::{
    host::threads::Threads,
    run::{Scenario, met},
    shim::{
        choose,
        clock::Pace,
        std::{
            sync::{Condvar, Mutex},
            thread::{self, refuse_some},
        },
    },
};
use std::{panic::resume_unwind, sync::Arc, time::Duration};

/// How many jobs are done.
#[derive(Default)]
struct Done {
    jobs: Mutex<usize>,
    more: Condvar,
}

impl Done {
    fn one(&self) {
        *self.jobs.lock().unwrap() += 1;
        self.more.notify_all();
    }

    fn wait_for(&self, jobs: usize) {
        let mut done = self.jobs.lock().unwrap();
        while *done < jobs {
            done = self.more.wait(done).unwrap();
        }
    }
}

/// Counts a job when it is dropped, done or not.
struct Counted(Arc<Done>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.one();
    }
}

/// Three threads. One hangs until the jobs of two others are done. Some jobs say that their
/// thread is soon free, some panic, the system refuses some threads, and between jobs the
/// threads may end.
fn jobs() {
    let threads = Arc::new(Threads::new(3));
    // As a server starts: the system refuses no thread any more then, or it has one.
    threads.run(Box::new(|_| {})).unwrap();
    let (hung, ended, done) = (
        Arc::new(Done::default()),
        Arc::new(Done::default()),
        Arc::new(Done::default()),
    );
    let counted = (Counted(Arc::clone(&ended)), Arc::clone(&hung));
    threads
        .run(Box::new(move |_| {
            counted.1.wait_for(1);
            drop(counted);
        }))
        .unwrap();
    refuse_some(choose(2) == 0);
    let callers: Vec<_> = (0..2)
        .map(|caller| {
            let (threads, done) = (Arc::clone(&threads), Arc::clone(&done));
            thread::spawn(move || {
                for job in 0..2 {
                    if choose(2) == 0 {
                        thread::sleep(Duration::from_secs(10));
                    }
                    let counted = Counted(Arc::clone(&done));
                    // If the system refuses a thread, its job is dropped, and counts.
                    let ran = threads.run(Box::new(move |soon_free| {
                        let _counted = counted;
                        if choose(2) == 0 {
                            soon_free();
                        }
                        if (caller, job) == (0, 0) {
                            met("panicked");
                            resume_unwind(Box::new(()));
                        }
                        met("ran");
                    }));
                    if ran.is_err() {
                        met("refused");
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    // All others are done although one hangs ...
    done.wait_for(4);
    hung.one();
    // ... and no other job hangs.
    ended.wait_for(1);
    // Threads that do not end are a deadlock: the run waits for them.
    drop(threads);
}

pub const JOBS: Scenario = Scenario {
    name: "no job is lost or waits for one that hangs and threads end with the pool",
    pace: Pace::Any,
    play: jobs,
    meets: &["refused", "ran", "panicked"],
};

#[test]
fn no_job_is_lost_or_waits_for_one_that_hangs_and_threads_end_with_the_pool() {
    JOBS.holds();
}

#[test]
fn broken_threads_are_found() {
    for broken in [
        "a job is left to a thread that another job woke",
        "a thread ends although there is a job",
        "a thread that has come is still expected",
        "a thread that was refused leaves its job behind",
        "a pool that is dropped does not say so",
    ] {
        JOBS.finds(broken);
    }
}
