//! The requests that are received and not yet answered, without the cancelled ones.
//!
//! Inside the server, each request has a number of ours instead of the client's id. So an answer
//! finds its own request and no other, even if the client uses an id again.
//!
//! Two permits of semaphores belong to a request: one for memory, in bytes of its line, and if it
//! is a call of the tool, one to run. Whoever drops a permit gives it back.

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
    /// The last number given out. The first request gets 1.
    last: i64,
    /// The requests by our numbers.
    requests: BTreeMap<i64, Request>,
}

struct Request {
    /// The client's id, as the client wrote it.
    id: Box<RawValue>,
    /// The permit for the memory of this request. None once the request has an answer: the answer
    /// takes the permit along.
    memory_permit: Option<Permit>,
    /// The permit of this call to run: see `Content` of core. None until the call has a file's
    /// text. A request that is no call, or is refused, never has one.
    run_permit: Option<Permit>,
    /// None until the request has an answer.
    outcome: Option<Outcome>,
}

/// What a request ends with.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Result(Box<ServerResult>),
    Error(ErrorData),
}

/// The answer as it is written: `{"jsonrpc":"2.0","id":7,"result":{…}}`.
#[derive(Serialize)]
pub(super) struct Answer {
    jsonrpc: JsonRpcVersion2_0,
    /// The id as the client wrote it. So a number of any length is written back unchanged.
    id: Box<RawValue>,
    #[serde(flatten)]
    outcome: Outcome,
    /// The permit of the call to run. It is given back when the answer is dropped.
    #[serde(skip)]
    _run_permit: Option<Permit>,
}

impl PendingRequests {
    /// The table, locked. A thread that panicked with the lock is ignored: each change is one step,
    /// so the table stays consistent.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request with the client's `id`, and returns our number for the request: one more
    /// than the last. `memory_permit` is given back when the answer is written. If the request is
    /// cancelled, the permit is given back at once, or when an answer that waits is dropped.
    pub(super) fn begin(&self, id: Box<RawValue>, memory_permit: Permit) -> RequestId {
        let mut table = self.table();
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let request = Request {
            id,
            memory_permit: Some(memory_permit),
            run_permit: None,
            outcome: None,
        };
        table.requests.insert(number, request);
        RequestId::Number(number)
    }

    /// Keeps the permit to run of the call with our `number` until its answer is written. If that
    /// call was cancelled, the permit is given back at once.
    pub(super) fn keep_until_written(&self, number: &RequestId, run_permit: Permit) {
        if let RequestId::Number(number) = number
            && let Some(request) = self.table().requests.get_mut(number)
        {
            request.run_permit = Some(run_permit);
        }
    }

    /// Puts an answer into the table, at the request whose number the answer has. Returns that
    /// number, and the permit for the request's memory: the caller holds it until the answer is
    /// written, or the request is found to be cancelled.
    ///
    /// None if the request was cancelled, or has an answer already. None also for a message that is
    /// no answer, and for an answer without a number of ours: our server sends no such message.
    pub(super) fn answer(&self, answer: ServerJsonRpcMessage) -> Option<(i64, Permit)> {
        let (id, outcome) = match answer {
            ServerJsonRpcMessage::Response(response) => {
                (response.id, Outcome::Result(Box::new(response.result)))
            }
            // An error without an id answers no request.
            ServerJsonRpcMessage::Error(error) => (error.id?, Outcome::Error(error.error)),
            // A request or a notification.
            _ => return None,
        };
        let RequestId::Number(number) = id else {
            return None;
        };
        let mut table = self.table();
        let request = table.requests.get_mut(&number)?;
        request.outcome = Some(outcome);
        Some((number, request.memory_permit.take()?))
    }

    /// Removes the request with our `number`, and returns its answer, which is to be written now.
    /// None if the request was cancelled, or has no answer yet.
    pub(super) fn finish(&self, number: i64) -> Option<Answer> {
        let request = self.table().requests.remove(&number)?;
        Some(Answer {
            jsonrpc: JsonRpcVersion2_0,
            id: request.id,
            outcome: request.outcome?,
            _run_permit: request.run_permit,
        })
    }

    /// Removes the request with the client's `id`, so that it is never answered, and returns our
    /// number for it. Of two requests with this id, the older one. None if there is no such request
    /// in the table: the client never sent one, its answer is written or being written, or it was
    /// cancelled before.
    pub(super) fn cancel(&self, id: &RawValue) -> Option<RequestId> {
        let mut table = self.table();
        // There are at most 1024 requests to look through.
        let mut requests = table.requests.iter();
        let found = requests.find(|(_, request)| request.id.get() == id.get());
        let (&number, _) = found?;
        table.requests.remove(&number);
        Some(RequestId::Number(number))
    }
}
