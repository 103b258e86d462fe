//! The requests that are received and not yet answered.
//!
//! Inside the server, each request has a number of ours instead of the client's id.
//! So an answer finds its own request and no other, even if the client uses an id
//! again. A cancelled request is no longer in this table.

use rmcp::model::RequestId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit;

/// What a request holds until its answer is written or dropped: its share of the
/// memory for requests and, once it has content, its permit from the loader. It
/// travels with the request as an extension. Both are released with the last clone,
/// so that a cancelled call counts until it has really ended.
#[derive(Clone)]
pub(super) struct RequestPermits(Arc<(OwnedSemaphorePermit, OnceLock<OwnedSemaphorePermit>)>);

impl RequestPermits {
    /// Keeps `call_permit` as long as the request is in flight. A request has one call.
    pub(super) fn keep(&self, call_permit: OwnedSemaphorePermit) {
        let _ = self.0.1.set(call_permit);
    }
}

/// The table of requests in flight. A clone is the same table.
#[derive(Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// The last number given out. No request gets zero.
    last: i64,
    /// The client's id of each request, and what the request holds, by our number.
    requests: BTreeMap<i64, (RequestId, RequestPermits)>,
}

impl Table {
    /// Our number for the client's `id`. There are few requests to look through.
    fn number(&self, id: &RequestId) -> Option<i64> {
        let found = self.requests.iter().find(|(_, (of, _))| of == id);
        found.map(|(number, _)| *number)
    }
}

impl PendingRequests {
    /// Ignores poisoning: each change is one step, so a panic elsewhere leaves the table
    /// consistent.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request and returns its number. None means that its id is in flight
    /// already.
    pub(super) fn begin(
        &self,
        id: RequestId,
        memory_permit: OwnedSemaphorePermit,
    ) -> Option<(RequestId, RequestPermits)> {
        let mut table = self.table();
        if table.number(&id).is_some() {
            return None;
        }
        table.last = table.last.wrapping_add(1);
        let permits = RequestPermits(Arc::new((memory_permit, OnceLock::new())));
        let number = table.last;
        table.requests.insert(number, (id, permits.clone()));
        Some((RequestId::Number(number), permits))
    }

    /// Removes the request with our `number`, to answer it: returns the client's id, and
    /// what to hold until the answer is written. None means that it was cancelled.
    pub(super) fn finish(&self, number: &RequestId) -> Option<(RequestId, RequestPermits)> {
        match number {
            RequestId::Number(number) => self.table().requests.remove(number),
            RequestId::String(_) => None,
        }
    }

    /// Removes the request with the client's `id`, so that it is never answered,
    /// and returns our number for it. None means that no such request is in flight.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut table = self.table();
        let number = table.number(id)?;
        table.requests.remove(&number);
        Some(RequestId::Number(number))
    }
}
