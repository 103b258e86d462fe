//! The requests that are received and not yet answered.
//!
//! Inside the server, each request has a number of ours instead of the client's id.
//! So an answer finds its own request and no other, even if the client uses an id
//! again. A cancelled request is no longer in this table.

use keyhole_core::CallPermit;
use rmcp::model::RequestId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit;

/// What a request holds until its answer is written or dropped: its share of the
/// memory for requests and, once it has content, its permit from the loader. It
/// travels with the request as an extension. Both are released with the last clone,
/// so that a cancelled call counts until it has really ended.
#[derive(Clone)]
pub(super) struct RequestPermits(Arc<Held>);

struct Held {
    call_permit: Mutex<Option<CallPermit>>,
    _memory_permit: OwnedSemaphorePermit,
}

impl RequestPermits {
    fn new(memory_permit: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Held {
            call_permit: Mutex::new(None),
            _memory_permit: memory_permit,
        }))
    }

    /// Keeps `call_permit` as long as the request is in flight.
    pub(super) fn keep(&self, call_permit: CallPermit) {
        *lock(&self.0.call_permit) = Some(call_permit);
    }
}

/// A request in flight.
pub(super) struct PendingRequest {
    /// The client's own id.
    pub(super) id: RequestId,
    _permits: RequestPermits,
}

/// The table of requests in flight. A clone is the same table.
#[derive(Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// The last number given out. No request gets zero.
    last: i64,
    /// The requests, by our number.
    requests: HashMap<i64, PendingRequest>,
    /// Our numbers, by the client's id.
    numbers: HashMap<RequestId, i64>,
}

impl PendingRequests {
    /// Adds a request and returns its number. None means that its id is in flight
    /// already.
    pub(super) fn begin(
        &self,
        id: RequestId,
        memory_permit: OwnedSemaphorePermit,
    ) -> Option<(RequestId, RequestPermits)> {
        let mut table = lock(&self.0);
        if table.numbers.contains_key(&id) {
            return None;
        }
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let permits = RequestPermits::new(memory_permit);
        table.numbers.insert(id.clone(), number);
        let request = PendingRequest {
            id,
            _permits: permits.clone(),
        };
        table.requests.insert(number, request);
        Some((RequestId::Number(number), permits))
    }

    /// Removes the request with our `number`, to answer it. None means that it was
    /// cancelled.
    pub(super) fn finish(&self, number: &RequestId) -> Option<PendingRequest> {
        let RequestId::Number(number) = number else {
            return None;
        };
        let mut table = lock(&self.0);
        let request = table.requests.remove(number)?;
        table.numbers.remove(&request.id);
        Some(request)
    }

    /// Removes the request with the client's `id`, so that it is never answered,
    /// and returns our number for it. None means that no such request is in flight.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut table = lock(&self.0);
        let number = table.numbers.remove(id)?;
        table.requests.remove(&number);
        Some(RequestId::Number(number))
    }
}

/// Ignores poisoning: each change is one step, so a panic elsewhere leaves these
/// tables consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
