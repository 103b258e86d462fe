//! The requests that are received and not yet answered, without the cancelled ones.
//!
//! Inside the server, each has a number of ours instead of the client's id. So an answer finds its
//! own request and no other, even if the client uses an id again.

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit as Permit;

/// The table of requests in flight. A clone is the same table.
#[derive(Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// The last number given out. No request gets zero.
    last: i64,
    requests: BTreeMap<i64, Request>,
}

struct Request {
    id: RequestId,
    /// Its share of the memory for requests, until it has an answer.
    room: Option<Permit>,
    /// The place of its call, until the answer is written.
    place: Option<Permit>,
    answer: Option<ServerJsonRpcMessage>,
}

impl PendingRequests {
    /// Ignores poisoning: each change is one step, so the table stays consistent.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: RequestId, room: Permit) -> RequestId {
        let mut table = self.table();
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let request = Request {
            id,
            room: Some(room),
            place: None,
            answer: None,
        };
        table.requests.insert(number, request);
        RequestId::Number(number)
    }

    /// Keeps the place of the call with our `number` until its answer is written or dropped.
    pub(super) fn keep(&self, number: &RequestId, place: Permit) {
        if let RequestId::Number(number) = number
            && let Some(request) = self.table().requests.get_mut(number)
        {
            request.place = Some(place);
        }
    }

    /// Takes in an answer, which has our number. Returns the number, and the request's memory:
    /// whoever waits to write the answer holds it. None means that the request was cancelled.
    pub(super) fn answer(&self, mut answer: ServerJsonRpcMessage) -> Option<(i64, Permit)> {
        let id = match &mut answer {
            ServerJsonRpcMessage::Response(answer) => &mut answer.id,
            ServerJsonRpcMessage::Error(answer) => answer.id.as_mut()?,
            // The server sends nothing else.
            _ => return None,
        };
        let RequestId::Number(number) = *id else {
            return None;
        };
        let mut table = self.table();
        let request = table.requests.get_mut(&number)?;
        *id = request.id.clone();
        request.answer = Some(answer);
        Some((number, request.room.take()?))
    }

    /// Removes the request with our `number`: its answer, and its place, if it has one.
    pub(super) fn finish(&self, number: i64) -> Option<(ServerJsonRpcMessage, Option<Permit>)> {
        let request = self.table().requests.remove(&number)?;
        Some((request.answer?, request.place))
    }

    /// Removes the request with the client's `id`, so that it is never answered,
    /// and returns our number for it. None means that no such request is in flight.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut table = self.table();
        // There are few requests to look through.
        let mut requests = table.requests.iter();
        let number = *requests.find(|(_, request)| request.id == *id)?.0;
        table.requests.remove(&number);
        Some(RequestId::Number(number))
    }
}
