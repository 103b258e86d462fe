//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{
    Caller, Code,
    limits::Limits,
    map::{Key, LiveMap, resolve},
    sandbox::Sandbox,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

/// What a call gets: the file, and the call's place, which is given back when
/// this is dropped. Keep it until the answer is written.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    _place: OwnedSemaphorePermit,
}

/// Loads files for keys. Shared by all calls of a server.
#[derive(Debug)]
pub struct Loader {
    work: Arc<Work>,
    deadline: Duration,
    /// One permit a call that runs.
    places: Arc<Semaphore>,
    /// One permit a call that runs or waits.
    queue: Arc<Semaphore>,
    /// One permit a thread, given back when the thread is done, which for a
    /// read that hangs in the kernel is after its call was answered.
    threads: Arc<Semaphore>,
}

/// What a call's thread needs.
#[derive(Debug)]
struct Work {
    map: Arc<LiveMap>,
    sandbox: Sandbox,
}

impl Loader {
    /// A loader for the files of `map`, read by `sandbox`.
    #[must_use]
    pub fn new(map: Arc<LiveMap>, sandbox: Sandbox, limits: Limits) -> Self {
        Self {
            work: Arc::new(Work { map, sandbox }),
            deadline: limits.deadline,
            places: Arc::new(Semaphore::new(limits.running)),
            queue: Arc::new(Semaphore::new(limits.running + limits.waiting)),
            threads: Arc::new(Semaphore::new(limits.running + limits.left_behind)),
        }
    }

    /// The file that `key` stands for in the map as it is now, if `caller` may
    /// have it.
    ///
    /// Waits for a place first, at most as long as a call may take. Runs on
    /// tokio's blocking threads; the runtime needs a timer.
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str, caller: &Caller) -> Result<Content, Code> {
        let _queued = self.queue.try_acquire().map_err(|_| Code::Busy)?;
        let place = timeout(self.deadline, Arc::clone(&self.places).acquire_owned())
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or(Code::Busy)?;
        let thread = Arc::clone(&self.threads)
            .try_acquire_owned()
            .map_err(|_| Code::Busy)?;

        let deadline = Instant::now() + self.deadline;
        let work = Arc::clone(&self.work);
        let (key, caller) = (key.to_owned(), caller.clone());
        let call = spawn_blocking(move || {
            let _until_done = thread;
            work.load(&key, &caller, deadline)
        });
        match timeout(self.deadline, call).await {
            Ok(Ok(answer)) => answer.map(|text| Content {
                text,
                _place: place,
            }),
            Ok(Err(_panicked)) => Err(Code::Internal),
            Err(_elapsed) => {
                self.work.sandbox.interrupt();
                Err(Code::TimedOut)
            }
        }
    }
}

impl Work {
    /// The call itself, on a thread that may block.
    fn load(&self, key: &str, caller: &Caller, deadline: Instant) -> Result<String, Code> {
        // First of all: who is not verified learns nothing, not even of the map.
        let agent = caller.agent()?;
        let map = self.map.current().map_err(|error| error.code())?;
        let entry = Key::try_from(key)
            .ok()
            .and_then(|key| map.find_for(&key, agent.as_deref()));
        // Without an entry there is no grant, and the guest refuses: a wrong key,
        // and one that is bound to others, takes the same way as a right one.
        let grant = entry.map(|entry| resolve(&map, entry)).transpose()?;
        self.sandbox.call(key, grant, deadline)
    }
}
