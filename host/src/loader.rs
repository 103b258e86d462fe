//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{
    Caller, Code, Grant,
    guesses::Guesses,
    limits::Limits,
    map::{Entry, FrozenMap, Key, LiveMap, Map, resolve},
    sandbox::{Guest, Sandbox},
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
pub struct Loader<G = Sandbox> {
    work: Arc<Work<G>>,
    deadline: Duration,
    /// One permit a call that runs.
    places: Arc<Semaphore>,
    /// One permit a call that runs or waits.
    queue: Arc<Semaphore>,
    /// One permit a thread, given back when the thread is done, which for a
    /// read that hangs in the kernel is after its call was answered.
    threads: Arc<Semaphore>,
    guesses: Guesses,
}

/// The map, and how its entries are resolved.
#[derive(Debug)]
pub enum MapSource {
    /// Read and resolved at each call.
    Live(Arc<LiveMap>),
    /// Read and resolved at the start: for a sealed process, which could not do
    /// it later.
    Frozen(FrozenMap),
}

impl MapSource {
    /// The map that counts for this call.
    fn current(&self) -> Result<Arc<Map>, Code> {
        match self {
            Self::Live(live) => live.current().map_err(|error| error.code()),
            Self::Frozen(frozen) => Ok(Arc::clone(frozen.map())),
        }
    }

    /// The key that a binding stands for. Without one, there is nothing to serve:
    /// the binding is gone, or so is the file or variable that held its key. What a
    /// caller learns is the same as if the key had left the map.
    fn bound(&self, map: &Map, name: &str) -> Result<Key, Code> {
        match self {
            Self::Live(_) => map.binding(name).and_then(|binding| binding.key(map).ok()),
            Self::Frozen(frozen) => frozen.bound().cloned(),
        }
        .ok_or(Code::UnknownKey)
    }

    /// The grant for an entry of that map.
    fn resolve(&self, map: &Map, entry: &Entry) -> Result<Grant, Code> {
        match self {
            Self::Live(_) => resolve(map, entry),
            Self::Frozen(frozen) => frozen.resolve(entry),
        }
    }
}

impl From<Arc<LiveMap>> for MapSource {
    fn from(live: Arc<LiveMap>) -> Self {
        Self::Live(live)
    }
}

impl From<FrozenMap> for MapSource {
    fn from(frozen: FrozenMap) -> Self {
        Self::Frozen(frozen)
    }
}

/// What a call asks for.
pub(crate) enum Asked {
    /// What this key stands for. It comes from the caller, and may be anything.
    Key(String),
    /// What the binding of this name stands for. It comes from the operator.
    Bound(Arc<str>),
    /// What this key stands for. It comes from the operator.
    Given(Key),
}

/// What a call's thread needs.
#[derive(Debug)]
struct Work<G> {
    map: MapSource,
    sandbox: G,
}

impl<G: Guest> Loader<G> {
    /// A loader for the files of `map`, read by `sandbox`.
    #[must_use]
    pub fn new(map: impl Into<MapSource>, sandbox: G, limits: Limits) -> Self {
        Self {
            work: Arc::new(Work {
                map: map.into(),
                sandbox,
            }),
            deadline: limits.deadline,
            places: Arc::new(Semaphore::new(limits.running)),
            queue: Arc::new(Semaphore::new(limits.running + limits.waiting)),
            threads: Arc::new(Semaphore::new(limits.running + limits.left_behind)),
            guesses: Guesses::new(limits),
        }
    }

    /// The file that `key` stands for in the map as it is now, if `caller` may
    /// have it.
    ///
    /// Waits for a place first, at most as long as a call may take. Runs on
    /// tokio's blocking threads; the runtime needs a timer. After some unknown
    /// keys, the refusal of the next is held back: see
    /// [`Limits::free_guesses`].
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str, caller: &Caller) -> Result<Content, Code> {
        self.answer(Asked::Key(key.to_owned()), caller).await
    }

    /// As [`Self::load`], for a server that is bound: the file of the binding
    /// `name`, by the map as it is now. Nothing can be guessed here, so no refusal
    /// is held back.
    ///
    /// # Errors
    /// Each [`Code`]; [`Code::UnknownKey`] also where the binding is gone, or its
    /// key cannot be had.
    pub async fn load_bound(&self, name: &str, caller: &Caller) -> Result<Content, Code> {
        self.answer(Asked::Bound(name.into()), caller).await
    }

    pub(crate) async fn answer(&self, asked: Asked, caller: &Caller) -> Result<Content, Code> {
        let guess = matches!(asked, Asked::Key(_));
        let answer = self.call(asked, caller).await;
        // Place, queue and thread are given back by now.
        if let (true, Err(Code::UnknownKey)) = (guess, &answer) {
            self.guesses.hold_back().await;
        }
        answer
    }

    async fn call(&self, asked: Asked, caller: &Caller) -> Result<Content, Code> {
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
        let caller = caller.clone();
        let call = spawn_blocking({
            let work = Arc::clone(&work);
            move || {
                let _until_done = thread;
                work.load(&asked, &caller, deadline)
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

impl<G: Guest> Work<G> {
    /// The call itself, on a thread that may block.
    fn load(&self, asked: &Asked, caller: &Caller, deadline: Instant) -> Result<String, Code> {
        // First of all: who is not verified learns nothing, not even of the map.
        let agent = caller.agent()?;
        let map = self.map.current()?;
        let bound;
        let key = match asked {
            Asked::Key(key) => key,
            Asked::Bound(name) => {
                bound = self.map.bound(&map, name)?;
                bound.expose()
            }
            Asked::Given(key) => key.expose(),
        };
        let entry = Key::try_from(key)
            .ok()
            .and_then(|key| map.find_for(&key, agent.as_deref()));
        // Without an entry there is no grant, and the guest refuses: a wrong key,
        // and one that is bound to others, takes the same way as a right one.
        let grant = entry
            .map(|entry| self.map.resolve(&map, entry))
            .transpose()?;
        self.sandbox.call(key, grant, deadline)
    }
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
