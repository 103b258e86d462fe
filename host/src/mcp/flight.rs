//! The requests that are received and not yet answered.
//!
//! Inside, each request has a number of our own instead of the client's id. So
//! an answer finds its own request and no other, even when the client uses an
//! id again; and a request that was cancelled is simply not here any more.

use rmcp::model::RequestId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit;

/// What a request holds until its answer is written or given up: its share of
/// the memory for requests and, once it has content, the place in the loader.
/// It travels with the request as an extension, and is let go with its last
/// clone, so that a cancelled call counts until it has really ended.
#[derive(Clone)]
pub(super) struct Call(Arc<Held>);

struct Held {
    place: Mutex<Option<Box<dyn Send>>>,
    _room: OwnedSemaphorePermit,
}

impl Call {
    fn new(room: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Held {
            place: Mutex::new(None),
            _room: room,
        }))
    }

    /// Keeps `place` for as long as the request is in flight.
    pub(super) fn keep(&self, place: Box<dyn Send>) {
        *lock(&self.0.place) = Some(place);
    }
}

/// A request in flight.
pub(super) struct Flight {
    /// The client's own id.
    pub(super) id: RequestId,
    _call: Call,
}

/// The table of requests in flight. A clone is the same table.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// The last number given out. Zero is given to none.
    last: i64,
    /// By our number.
    flights: HashMap<i64, Flight>,
    /// Our number, by the client's id.
    numbers: HashMap<RequestId, i64>,
}

impl Flights {
    /// Enters a request and gives its number; none if its id is in flight already.
    pub(super) fn begin(
        &self,
        id: RequestId,
        room: OwnedSemaphorePermit,
    ) -> Option<(RequestId, Call)> {
        let mut table = lock(&self.0);
        if table.numbers.contains_key(&id) {
            return None;
        }
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let call = Call::new(room);
        table.numbers.insert(id.clone(), number);
        let flight = Flight {
            id,
            _call: call.clone(),
        };
        table.flights.insert(number, flight);
        Some((RequestId::Number(number), call))
    }

    /// Takes out the request with our `number`, to answer it; none if it was
    /// cancelled.
    pub(super) fn finish(&self, number: &RequestId) -> Option<Flight> {
        let RequestId::Number(number) = number else {
            return None;
        };
        let mut table = lock(&self.0);
        let flight = table.flights.remove(number)?;
        table.numbers.remove(&flight.id);
        Some(flight)
    }

    /// Takes out the request with the client's `id`, so that it is never
    /// answered. Gives its number; none if no such request is in flight.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut table = lock(&self.0);
        let number = table.numbers.remove(id)?;
        table.flights.remove(&number);
        Some(RequestId::Number(number))
    }
}

/// A panic elsewhere leaves these tables whole: each change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
