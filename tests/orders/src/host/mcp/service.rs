//! What rmcp does between the transport and the server, as far as the order of events
//! matters: rmcp's own code needs tokio's runtime. It handles each request in a task,
//! writes answers in other tasks, and drops those to cancelled requests.

use super::{
    super::call::Content, SessionError, pending::RequestPermits, transport::StdioTransport,
};
use crate::shim::{
    others_first,
    tokio::{
        select,
        sync::{Notify, mpsc},
        task::spawn,
    },
};
use rmcp::{
    model::{
        CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest, ContentBlock,
        GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    },
    transport::Transport,
};
use std::{collections::HashMap, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};

/// Answers a request for `key`: with the text, and with what must be kept until the text
/// is written.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, key: &str) -> impl Future<Output = Content> + Send;
    /// The request for `key` was cancelled, before it had an answer.
    fn cancelled(&self, key: &str);
}

enum Event {
    Answer(ServerJsonRpcMessage),
    Request(ClientJsonRpcMessage),
    End,
}

/// Serves until the input ends and all requests have answers. Returns the errors.
pub async fn run_session<A, R, W>(answers: Arc<A>, from: R, to: W) -> Vec<SessionError>
where
    A: Answers,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (failed, mut failures) = mpsc::unbounded_channel();
    let mut transport = StdioTransport::new(from, to, failed, &["tools/call"]);
    let (sink, mut answered) = mpsc::unbounded_channel();
    let mut under_way: HashMap<RequestId, (Arc<Notify>, String)> = HashMap::new();
    let mut has_ended = false;
    while !has_ended || !under_way.is_empty() {
        let event = if has_ended {
            Event::Answer(answered.recv().await.unwrap())
        } else {
            select! {
                answer = answered.recv() => { Event::Answer(answer.unwrap()) }
                request = transport.receive() => { request.map_or(Event::End, Event::Request) }
            }
        };
        match event {
            Event::End => has_ended = true,
            Event::Answer(answer) => {
                let JsonRpcMessage::Response(response) = &answer else {
                    continue;
                };
                if under_way.remove(&response.id).is_some() {
                    let sent = transport.send(answer);
                    spawn(async move { sent.await.unwrap() });
                }
            }
            Event::Request(JsonRpcMessage::Request(request)) => {
                let (number, ClientRequest::CallToolRequest(call)) = (request.id, request.request)
                else {
                    panic!("another method");
                };
                let key = call.params.arguments.as_ref().unwrap()["key"].as_str();
                let key = key.unwrap().to_owned();
                let cancelled = Arc::new(Notify::new());
                let same = (Arc::clone(&cancelled), key.clone());
                let before = under_way.insert(number.clone(), same);
                assert!(before.is_none(), "a number was given twice");
                let (answers, sink) = (Arc::clone(&answers), sink.clone());
                spawn(async move {
                    let text = tokio::select! {
                        biased;
                        () = cancelled.notified() => "cancelled".to_owned(),
                        Content { text, call_permit } = answers.answer(&key) => {
                            call.extensions().get::<RequestPermits>().unwrap().keep(call_permit);
                            text
                        }
                    };
                    let result = CallToolResult::success(vec![ContentBlock::text(text)]);
                    others_first();
                    let _ = sink.send(ServerJsonRpcMessage::response(result.into(), number));
                });
            }
            Event::Request(JsonRpcMessage::Notification(notification)) => {
                let ClientNotification::CancelledNotification(cancelled) =
                    notification.notification
                else {
                    panic!("another notification");
                };
                let number = cancelled.params.request_id.unwrap();
                // It may have an answer that is not yet written.
                if let Some((cancelled, key)) = under_way.remove(&number) {
                    answers.cancelled(&key);
                    cancelled.notify_one();
                }
            }
            Event::Request(_) => panic!("neither a request nor a notification"),
        }
    }
    drop(transport);
    let mut told = Vec::new();
    while let Ok(failure) = failures.try_recv() {
        told.push(failure);
    }
    told
}
