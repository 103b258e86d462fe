//! Calls, many at once: which may run, on which thread, and for how long.

use crate::{
    call::{Call, Target},
    caller::Caller,
    code::Code,
    grant::Executor,
    guesses::GuessThrottle,
    limits::Limits,
    map::{Key, Maps},
};
use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    pin, select,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::{JoinError, JoinHandle, spawn, spawn_blocking},
    time::{Instant, sleep_until, timeout_at},
};

/// Loads files for keys. All calls of a server share it.
pub struct Loader<M, G> {
    maps: Arc<M>,
    guest: Arc<G>,
    limits: Limits,
    /// One permit for each call that runs or waits.
    queue: Semaphore,
    guesses: GuessThrottle,
    /// One permit for each call that runs.
    running: Arc<Semaphore>,
    /// One permit for each call that takes long, or hangs in the kernel.
    slow: Arc<Semaphore>,
}

/// A call's permit: it counts as running until the last clone is dropped. The call's thread
/// has one, and so has its answer, until it is written.
#[derive(Clone, Debug)]
pub struct CallPermit(Arc<Mutex<OwnedSemaphorePermit>>);

impl CallPermit {
    /// A call that holds this.
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Mutex::new(permit)))
    }

    /// Takes another permit for the one that it has, which is free then.
    fn exchange(&self, permit: OwnedSemaphorePermit) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

/// What a call gets.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    /// Keep it until the answer is written: so a client that does not read cannot pile up
    /// answers.
    pub permit: CallPermit,
}

impl<M: Maps, G: Executor<Directory = M::Directory>> Loader<M, G> {
    /// A loader for the files of `maps`, read by `guest`. Its calls run on the blocking
    /// threads of the runtime, which needs [`Limits::threads`] of them.
    pub fn new(maps: Arc<M>, guest: G, limits: Limits) -> Self {
        Self {
            maps,
            guest: Arc::new(guest),
            limits,
            queue: Semaphore::new(limits.running + limits.waiting),
            guesses: GuessThrottle::new(limits),
            running: Arc::new(Semaphore::new(limits.running)),
            slow: Arc::new(Semaphore::new(limits.slow)),
        }
    }

    /// The file that `target` stands for in the map as it is now, if `caller` may have it.
    ///
    /// The call first waits for a permit to run, at most as long as a call may take. A
    /// guessable key also waits behind other guessable keys that were wrong: see
    /// [`Limits::free_guesses`]. Dropping the future ends a call that waits. A call that runs
    /// goes on until it ends, and keeps its permit. The runtime needs a timer.
    pub async fn load(&self, target: Target, caller: Caller) -> Result<Content, Code> {
        let until = Instant::now() + self.limits.deadline;
        let _queued = self.queue.try_acquire().map_err(|_| Code::Busy)?;
        let run = || by(until, Arc::clone(&self.running).acquire_owned());
        let mut permit = run().await?;
        let guess = match &target {
            Target::Key(key) if Key::is_guessable(key) => match self.guesses.try_take() {
                None => {
                    // Others run meanwhile.
                    drop(permit);
                    let guess = by(until, self.guesses.take()).await??;
                    permit = run().await?;
                    Some(guess)
                }
                guess => guess,
            },
            _ => None,
        };
        let permit = CallPermit::new(permit.map_err(|_| Code::Internal)?);

        let deadline = Instant::now() + self.limits.deadline;
        let call = Call {
            guess,
            ..Call::new(target, caller, deadline.into_std())
        };
        let (maps, guest, held) = (self.maps.clone(), self.guest.clone(), permit.clone());
        let ran = spawn_blocking(move || {
            let text = call.run(&*maps, &*guest);
            // Before anybody learns the result, the permit is only the answer's.
            drop(held);
            text
        });
        let (tell, told) = oneshot::channel();
        let slow = Arc::clone(&self.slow);
        let guest = Arc::clone(&self.guest);
        let watch = Watch {
            slow_after: Instant::now() + self.limits.slow_after,
            deadline,
            slow,
            permit,
        };
        // In a task of its own: so a guest whose caller went away is still stopped at its
        // deadline, and gives up its permit if it takes long.
        spawn(watch.run_until_deadline(ran, tell, move || guest.interrupt()));
        told.await.map_err(|_| Code::Internal)?
    }
}

/// Watches one call that runs on a thread.
struct Watch {
    /// From then on, the call counts as slow.
    slow_after: Instant,
    deadline: Instant,
    slow: Arc<Semaphore>,
    permit: CallPermit,
}

impl Watch {
    /// Tells how the call ended, or at its deadline that it took too long. If it takes long,
    /// it gives up its permit for that of a slow call, so that others can run; also after its
    /// deadline, if its thread still hangs.
    async fn run_until_deadline(
        self,
        mut ran: JoinHandle<Result<String, Code>>,
        tell: oneshot::Sender<Result<Content, Code>>,
        interrupt: impl Fn(),
    ) {
        let content = |done: Result<Result<String, Code>, JoinError>, permit| match done {
            Ok(text) => text.map(|text| Content { text, permit }),
            // It panicked.
            Err(_) => Err(Code::Internal),
        };
        // Most calls end here. If nobody wants the result any more, it is dropped, and its
        // permit with it.
        if let Ok(done) = timeout_at(self.slow_after, &mut ran).await {
            drop(tell.send(content(done, self.permit)));
            return;
        }
        // Once it has exchanged the permit, it waits for ever.
        let exchange = async {
            if let Ok(slow) = self.slow.acquire_owned().await {
                self.permit.exchange(slow);
            }
            pending::<()>().await;
        };
        pin!(exchange);
        let done = select! {
            biased;
            done = &mut ran => Some(done),
            () = &mut exchange => None,
            () = sleep_until(self.deadline) => None,
        };
        if let Some(done) = done {
            drop(tell.send(content(done, self.permit.clone())));
            return;
        }
        interrupt();
        drop(tell.send(Err(Code::TimedOut)));
        select! {
            _ = ran => {}
            () = exchange => {}
        }
    }
}

/// Waits for `wait`, but not longer than until `until`.
async fn by<T>(until: Instant, wait: impl Future<Output = T>) -> Result<T, Code> {
    timeout_at(until, wait).await.map_err(|_| Code::Busy)
}

#[cfg(all(test, unix))]
mod tests;
