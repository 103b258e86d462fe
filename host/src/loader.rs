//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{
    Code,
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
    task::{spawn, spawn_blocking},
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

    /// The file that `key` stands for in the map as it is now.
    ///
    /// Waits for a place first, at most as long as a call may take. Runs on
    /// tokio's blocking threads; the runtime needs a timer.
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str) -> Result<Content, Code> {
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
        let key = key.to_owned();
        let call = spawn_blocking({
            let work = Arc::clone(&work);
            move || {
                let _until_done = thread;
                work.load(&key, deadline)
            }
        });
        // In a task of its own: a guest whose caller went away is stopped at its
        // deadline all the same, and keeps its place until then.
        let limit = self.deadline;
        let answer = spawn(async move {
            match timeout(limit, call).await {
                Ok(Ok(answer)) => answer.map(|text| Content {
                    text,
                    _place: place,
                }),
                Ok(Err(_panicked)) => Err(Code::Internal),
                Err(_elapsed) => {
                    work.sandbox.interrupt();
                    Err(Code::TimedOut)
                }
            }
        });
        answer.await.unwrap_or(Err(Code::Internal))
    }
}

impl Work {
    /// The call itself, on a thread that may block.
    fn load(&self, key: &str, deadline: Instant) -> Result<String, Code> {
        let map = self.map.current().map_err(|error| error.code())?;
        let entry = Key::try_from(key).ok().and_then(|key| map.find(&key));
        // Without an entry there is no grant, and the guest refuses: a wrong key
        // takes the same way as a right one.
        let grant = entry.map(|entry| resolve(&map, entry)).transpose()?;
        self.sandbox.call(key, grant, deadline)
    }
}
