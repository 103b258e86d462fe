//! The requests that are received and not yet answered, without the cancelled ones.
//!
//! Inside the server, each has a number of ours instead of the client's id. So an answer finds its
//! own request and no other, even if the client uses an id again.

use rmcp::model::{ErrorData, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Serialize;
use serde_json::value::RawValue;
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
    id: Box<RawValue>,
    /// Its share of the memory for requests, until it has an answer.
    room: Option<Permit>,
    /// The permit of its call to run, until the answer is written: see `Content` of core.
    place: Option<Permit>,
    /// None until it has an answer.
    outcome: Option<Outcome>,
}

/// What a request ends with.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Result(Box<ServerResult>),
    Error(ErrorData),
}

/// What is written, with the id as the client wrote it: no number is too long for it.
#[derive(Serialize)]
pub(super) struct Answer {
    jsonrpc: JsonRpcVersion2_0,
    id: Box<RawValue>,
    #[serde(flatten)]
    outcome: Outcome,
}

impl PendingRequests {
    /// Ignores poisoning: each change is one step, so the table stays consistent.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request with the client's `id`, and returns our number for it: one more than the
    /// last. `room` is the request's share of the memory for requests.
    pub(super) fn begin(&self, id: Box<RawValue>, room: Permit) -> RequestId {
        let mut table = self.table();
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let request = Request {
            id,
            room: Some(room),
            place: None,
            outcome: None,
        };
        table.requests.insert(number, request);
        RequestId::Number(number)
    }

    /// Keeps the permit of the call with our `number`, its `place` among those that run, until its
    /// answer is written or dropped.
    pub(super) fn keep(&self, number: &RequestId, place: Permit) {
        if let RequestId::Number(number) = number
            && let Some(request) = self.table().requests.get_mut(number)
        {
            request.place = Some(place);
        }
    }

    /// Puts an answer to its request, by our number in it. Returns the number, and the request's
    /// share of the memory (`room`), to be held until the answer is written. None if the request
    /// was cancelled, or has an answer already, or if the message is no answer with a number of
    /// ours: our server sends no such message.
    pub(super) fn answer(&self, answer: ServerJsonRpcMessage) -> Option<(i64, Permit)> {
        let (id, outcome) = match answer {
            ServerJsonRpcMessage::Response(it) => (it.id, Outcome::Result(Box::new(it.result))),
            ServerJsonRpcMessage::Error(it) => (it.id?, Outcome::Error(it.error)),
            // A request or a notification.
            _ => return None,
        };
        let RequestId::Number(number) = id else {
            return None;
        };
        let mut table = self.table();
        let request = table.requests.get_mut(&number)?;
        request.outcome = Some(outcome);
        Some((number, request.room.take()?))
    }

    /// Removes the request with our `number`, and returns its answer and the permit of its call.
    /// None means that it was cancelled, or has no answer yet.
    pub(super) fn finish(&self, number: i64) -> Option<(Answer, Option<Permit>)> {
        let request = self.table().requests.remove(&number)?;
        let answer = Answer {
            jsonrpc: JsonRpcVersion2_0,
            id: request.id,
            outcome: request.outcome?,
        };
        Some((answer, request.place))
    }

    /// Removes the request with the client's `id`, so that it is never answered,
    /// and returns our number for it. None means that no such request is in flight.
    pub(super) fn cancel(&self, id: &RawValue) -> Option<RequestId> {
        let mut table = self.table();
        // There are few requests to look through.
        let mut requests = table.requests.iter();
        let found = requests.find(|(_, request)| request.id.get() == id.get());
        let (&number, _) = found?;
        table.requests.remove(&number);
        Some(RequestId::Number(number))
    }
}
