//! A stand-in for the sandbox, which does what a file's name says.

use crate::{
    host::{Code, Grant, limits::Limits, sandbox::Executor},
    run::holds,
    shim::{
        Plain, clock, others_first,
        std::{
            sync::{Condvar, Mutex},
            thread,
        },
    },
};
use std::{
    collections::HashMap,
    panic::resume_unwind,
    sync::Arc,
    time::{Duration, Instant},
};

/// What a read of a file can do.
pub const KINDS: [&str; 6] = ["quick", "slow", "late", "stuck", "computes", "panics"];

/// Small limits, so that few calls reach each of them.
pub fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(5),
        running: 2,
        waiting: 3,
        abandoned: 1,
        slow_after: Duration::from_millis(100),
        for_one_file: 1,
        waiting_for_one_file: 2,
        hung_after: Duration::from_secs(2),
        free_guesses: 3,
        guess_every: Duration::from_secs(1),
        waiting_guesses: 2,
        ..Limits::default()
    }
}

/// What the guest did.
pub struct Files {
    limits: Limits,
    inside: Plain<HashMap<String, usize>>,
    released: Mutex<bool>,
    changed: Condvar,
}

impl Files {
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            inside: Plain::default(),
            released: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Releases the reads that are stuck.
    pub fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn enter(self: &Arc<Self>, file: &str) -> Inside {
        let mut inside = self.inside.lock();
        let of_this = inside.entry(file.to_owned()).or_default();
        *of_this += 1;
        let (of_this, all) = (*of_this, inside.values().sum::<usize>());
        let most = self.limits.for_one_file;
        holds(of_this <= most, || format!("{of_this} read {file}"));
        let most = self.limits.running + self.limits.abandoned;
        holds(all <= most, || format!("{all} read"));
        Inside(Arc::clone(self), file.to_owned())
    }

    fn wait_until(&self, is_over: impl Fn(bool) -> bool) {
        let mut released = self.released.lock().unwrap();
        while !is_over(*released) {
            released = self.changed.wait(released).unwrap();
        }
    }
}

struct Inside(Arc<Files>, String);

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(inside) = self.0.inside.lock().get_mut(&self.1) {
            *inside -= 1;
        }
    }
}

/// What a caller gets for `key` if the map has `file` for it.
pub fn text(key: &str, file: &str) -> String {
    format!("{file} for {key}")
}

pub struct Fake(pub Arc<Files>);

impl Executor for Fake {
    fn call(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Code> {
        let Some(Grant { name, .. }) = grant else {
            return Err(Code::UnknownKey);
        };
        let _inside = self.0.enter(&name);
        others_first();
        match name.split_once('-').unwrap().0 {
            "slow" => thread::sleep(self.0.limits.slow_after * 2),
            "late" => thread::sleep(self.0.limits.deadline * 2),
            "stuck" => self.0.wait_until(|released| released),
            // Only the host can stop it.
            "computes" => {
                self.0.wait_until(|_| clock::is_past(deadline));
                return Err(Code::TimedOut);
            }
            "panics" => resume_unwind(Box::new(())),
            _ => {}
        }
        Ok(text(key, &name))
    }

    fn interrupt(&self) {
        // With the lock: otherwise a thread that has just looked at the clock could
        // miss it.
        drop(self.0.released.lock());
        self.0.changed.notify_all();
    }
}
