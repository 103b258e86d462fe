//! How many calls for one key, and for one file, may run at once.
//!
//! If a file hangs, every call that reads it hangs too. If such calls could take
//! all threads, the server could serve no other file. So the calls for one key pass
//! one gate, and the calls for one file pass another.

use crate::code::Code;
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    pin,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// A gate for each key, or for each file, that calls run for or wait for.
///
/// The table knows a key or a file by a hash with a seed of this process, so it keeps
/// no key and no path. If two ever have the same hash, they share a gate. A gate is
/// removed with its last call, so that made-up keys leave nothing behind.
#[derive(Clone)]
pub(crate) struct Gates(Arc<Shared>);

struct Shared {
    seed: RandomState,
    width: usize,
    waiting: usize,
    hung_after: Duration,
    gates: Mutex<HashMap<u64, Gate>>,
}

struct Gate {
    /// One permit for each call that may be inside.
    slots: Arc<Semaphore>,
    /// The number of calls that are inside or wait.
    present: usize,
    /// The calls that are inside, each with its number and its time of entry,
    /// oldest first.
    inside: VecDeque<(u64, Instant)>,
    last: u64,
}

/// Identifies a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GateId(u64);

/// The permit to be inside. It is returned on drop.
pub(crate) struct Pass {
    gates: Gates,
    id: GateId,
    slot: Option<(u64, OwnedSemaphorePermit)>,
}

impl Gates {
    /// Gates that each let `width` calls in at once, and let `waiting` more wait.
    ///
    /// No call waits at a gate that is full and whose oldest call has been inside
    /// for `hung_after`: that call may never end.
    pub(crate) fn new(width: usize, waiting: usize, hung_after: Duration) -> Self {
        Self(Arc::new(Shared {
            seed: RandomState::new(),
            width,
            waiting,
            hung_after,
            gates: Mutex::default(),
        }))
    }

    /// The gate of `thing`: of a key, or of a file's path.
    pub(crate) fn id_of(&self, thing: impl Hash) -> GateId {
        GateId(self.0.seed.hash_one(thing))
    }

    /// Waits to enter, first come, first served. The future can be dropped.
    ///
    /// # Errors
    /// [`Code::Busy`] if too many wait, or if the calls inside seem to hang.
    pub(crate) async fn enter(&self, id: GateId) -> Result<Pass, Code> {
        let (mut pass, slots) = self.join(id, true).ok_or(Code::Busy)?;
        let slot = slots.acquire_owned();
        pin!(slot);
        loop {
            match timeout(self.0.hung_after, &mut slot).await {
                Ok(slot) => {
                    pass.go_in(slot.map_err(|_| Code::Internal)?);
                    return Ok(pass);
                }
                Err(_) if self.hangs(id) => return Err(Code::Busy),
                Err(_) => {}
            }
        }
    }

    /// Like [`Self::enter`], but does not wait. None means that the gate is full.
    pub(crate) fn try_enter(&self, id: GateId) -> Option<Pass> {
        let (mut pass, slots) = self.join(id, false)?;
        pass.go_in(slots.try_acquire_owned().ok()?);
        Some(pass)
    }

    /// Counts the call at the gate. None means that waiting is of no use.
    fn join(&self, id: GateId, to_wait: bool) -> Option<(Pass, Arc<Semaphore>)> {
        let mut gates = self.lock();
        let gate = gates.entry(id.0).or_insert_with(|| Gate {
            slots: Arc::new(Semaphore::new(self.0.width)),
            present: 0,
            inside: VecDeque::new(),
            last: 0,
        });
        let full = gate.present >= self.0.width + self.0.waiting;
        if to_wait && (full || gate.hangs(&self.0)) {
            return None;
        }
        gate.present += 1;
        let pass = Pass {
            gates: self.clone(),
            id,
            slot: None,
        };
        Some((pass, Arc::clone(&gate.slots)))
    }

    fn hangs(&self, id: GateId) -> bool {
        let gates = self.lock();
        gates.get(&id.0).is_some_and(|gate| gate.hangs(&self.0))
    }

    /// The number of gates.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Ignores poisoning: nothing panics while the lock is held.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Gate>> {
        self.0.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    fn hangs(&self, shared: &Shared) -> bool {
        self.inside.len() >= shared.width
            && self
                .inside
                .front()
                .is_some_and(|(_, since)| since.elapsed() >= shared.hung_after)
    }
}

impl Pass {
    fn go_in(&mut self, slot: OwnedSemaphorePermit) {
        let mut gates = self.gates.lock();
        if let Some(gate) = gates.get_mut(&self.id.0) {
            gate.last = gate.last.wrapping_add(1);
            gate.inside.push_back((gate.last, Instant::now()));
            self.slot = Some((gate.last, slot));
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut gates = self.gates.lock();
        let Some(gate) = gates.get_mut(&self.id.0) else {
            return;
        };
        if let Some((number, _)) = &self.slot {
            gate.inside.retain(|(inside, _)| inside != number);
        }
        gate.present -= 1;
        if gate.present == 0 {
            gates.remove(&self.id.0);
        }
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gates").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Gates, Pass};
    use crate::code::Code;
    use std::time::Duration;
    use tokio::{
        task::{JoinSet, yield_now},
        time::{advance, timeout},
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn code(entered: Result<Pass, Code>) -> Option<Code> {
        entered.err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_gate_lets_in_one_for_each_that_leaves_in_the_order_of_their_coming() {
        let gates = Gates::new(2, 8, SECOND);
        let id = gates.id_of("a");
        let first = gates.enter(id).await.unwrap();
        let second = gates.enter(id).await.unwrap();
        assert!(gates.try_enter(id).is_none());
        let mut waiting = JoinSet::new();
        for number in 0..4 {
            let gates = gates.clone();
            waiting.spawn(async move { (number, gates.enter(id).await.unwrap()) });
            yield_now().await;
        }
        drop(second);
        let mut last = first;
        for expected in 0..4 {
            let (number, pass) = waiting.join_next().await.unwrap().unwrap();
            assert_eq!(number, expected);
            // One of two leaves, and the next comes in.
            last = pass;
        }
        drop(last);
        assert_eq!(gates.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn another_thing_has_a_gate_of_its_own_and_none_is_left_behind() {
        let gates = Gates::new(1, 0, SECOND);
        let inside = gates.enter(gates.id_of("a")).await.unwrap();
        for number in 0..1000 {
            drop(gates.enter(gates.id_of(number)).await.unwrap());
        }
        assert_eq!(code(gates.enter(gates.id_of("a")).await), Some(Code::Busy));
        assert!(gates.try_enter(gates.id_of("a")).is_none());
        assert_eq!(gates.len(), 1);
        drop(inside);
        assert_eq!(gates.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_behind_a_call_that_hangs_until_it_ends() {
        let gates = Gates::new(1, 8, SECOND);
        let id = gates.id_of("a");
        let hung = gates.enter(id).await.unwrap();
        // A call that waited from the start gives up when the first has hung that
        // long ...
        let waited = tokio::time::Instant::now();
        assert_eq!(code(gates.enter(id).await), Some(Code::Busy));
        assert_eq!(waited.elapsed().as_secs(), 1);
        // ... and a call that comes later does not wait at all.
        let waited = tokio::time::Instant::now();
        assert_eq!(code(gates.enter(id).await), Some(Code::Busy));
        assert!(waited.elapsed().is_zero());
        drop(hung);
        assert!(gates.enter(id).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_moves_is_waited_in() {
        let gates = Gates::new(1, 8, SECOND);
        let id = gates.id_of("a");
        let mut inside = gates.enter(id).await.unwrap();
        let mut waiting = JoinSet::new();
        for _ in 0..6 {
            let gates = gates.clone();
            waiting.spawn(async move { gates.enter(id).await.unwrap() });
            yield_now().await;
        }
        for _ in 0..6 {
            advance(SECOND * 3 / 4).await;
            drop(inside);
            inside = waiting.join_next().await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_nothing_and_keeps_nobody_out() {
        let gates = Gates::new(1, 8, SECOND);
        let id = gates.id_of("a");
        let inside = gates.enter(id).await.unwrap();
        for _ in 0..100 {
            let gave_up = timeout(SECOND / 1000, gates.enter(id)).await;
            assert!(gave_up.is_err());
        }
        drop(inside);
        drop(gates.enter(id).await.unwrap());
        assert_eq!(gates.len(), 0);
    }
}
