//! Parses one line from the client.

use super::refusals::{invalid_params, method_not_found, not_a_message, not_a_version, not_json};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, ClientRequest, DiscoverRequest, Extensions, GetExtensions,
        InitializeRequest, JsonObject, ListToolsRequest, PingRequest, RequestId, RequestMetaObject,
    },
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What one line from the client is.
pub(super) enum Message {
    /// A request to be answered by the server.
    Request {
        /// The client's id.
        id: RequestId,
        /// One of the methods that we serve.
        request: Box<ClientRequest>,
    },
    /// The client cancelled this request.
    Cancel(RequestId),
    /// A line that needs no action: a blank line, another notification, or a
    /// response. No response can be due, because this server sends no requests.
    Nothing,
    /// A line that cannot be served, with its id if it has a usable one.
    Refused(Option<RequestId>, ErrorData),
}

/// Parses `line`.
pub(super) fn read(line: &[u8]) -> Message {
    if line.trim_ascii().is_empty() {
        return Message::Nothing;
    }
    // We parse the whole line before we look at anything in it. So nesting,
    // encoding and escapes are checked everywhere, also in parts that we never
    // read.
    let value = str::from_utf8(line)
        .ok()
        .and_then(|text| serde_json::from_str(text).ok());
    match value {
        Some(Value::Object(message)) => read_object(message),
        Some(_) => Message::Refused(None, not_a_message()),
        None => Message::Refused(None, not_json()),
    }
}

fn read_object(mut message: JsonObject) -> Message {
    let id = message.remove("id");
    let no_id = id.is_none();
    let null_id = id.as_ref().is_some_and(Value::is_null);
    let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let version = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    let result = message.contains_key("result");
    let error = message.contains_key("error");
    let params = message.remove("params");
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) if version && !result && !error => {
            match request(&method, params) {
                Ok(request) => Message::Request {
                    id,
                    request: Box::new(request),
                },
                Err(error) => Message::Refused(Some(id), error),
            }
        }
        (Some(Value::String(method)), None) if version && no_id && !result && !error => {
            notification(&method, params)
        }
        // A response. An error response may lack the id.
        (None, Some(_)) if version && result != error => Message::Nothing,
        (None, None) if version && error && !result && (no_id || null_id) => Message::Nothing,
        (_, id) => Message::Refused(id, not_a_message()),
    }
}

/// Whether a request states a protocol version that has no handshake.
fn has_no_handshake(extensions: &Extensions) -> bool {
    extensions
        .get::<RequestMetaObject>()
        .and_then(RequestMetaObject::protocol_version)
        .is_some_and(|version| !version.has_initialize())
}

/// What a client may send with a request, and a server ignores that has not asked for it: a task
/// (2025-11-25), and the answers to what a server asked (2026-07-28). These are the protocol's
/// own; the tool's arguments stay strict.
const IGNORED: [&str; 3] = ["task", "inputResponses", "requestState"];

/// The request for `method`, with its params parsed into the method's own type. These are
/// all methods that we serve.
fn request(method: &str, params: Option<Value>) -> Result<ClientRequest, ErrorData> {
    let split = split_meta(params);
    let handshake = !matches!(&split, Ok((_, extensions)) if has_no_handshake(extensions));
    let (mut request, extensions): (ClientRequest, _) = match method {
        "initialize" if handshake => {
            let (params, extensions) = split?;
            (InitializeRequest::new(typed(params)?).into(), extensions)
        }
        "ping" if handshake => (PingRequest::default().into(), split?.1),
        "server/discover" => {
            let (_, extensions) = split?;
            let request = DiscoverRequest::new(rmcp::model::DiscoverRequestParams {});
            (request.into(), extensions)
        }
        "tools/list" => {
            let (params, extensions) = split?;
            only(&params, &["cursor"])?;
            let request = ListToolsRequest::with_param(typed(params)?);
            (request.into(), extensions)
        }
        "tools/call" => {
            let (params, extensions) = split?;
            only(&params, &["name", "arguments"])?;
            (CallToolRequest::new(typed(params)?).into(), extensions)
        }
        _ => return Err(method_not_found()),
    };
    *request.extensions_mut() = extensions;
    Ok(request)
}

/// Splits `_meta`, which belongs to the protocol, from a method's own params, without what is
/// ignored.
fn split_meta(params: Option<Value>) -> Result<(JsonObject, Extensions), ErrorData> {
    let mut params = match params {
        None | Some(Value::Null) => JsonObject::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(invalid_params()),
    };
    for ignored in IGNORED {
        params.remove(ignored);
    }
    let mut extensions = Extensions::new();
    match params.remove("_meta") {
        None => {}
        Some(Value::Object(meta)) => {
            let meta = RequestMetaObject::from(meta);
            let version = meta.protocol_version();
            if version.is_some_and(|version| !is_date(version.as_str())) {
                return Err(not_a_version());
            }
            extensions.insert(meta);
        }
        Some(_) => return Err(invalid_params()),
    }
    Ok((params, extensions))
}

/// Whether `text` has the form of a protocol version. rmcp repeats a version that it does not
/// know, so it gets no other text.
fn is_date(text: &str) -> bool {
    text.len() == "2026-07-28".len()
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Refuses params that the method does not take: a client that sends them expects
/// them to have an effect.
fn only(params: &JsonObject, known: &[&str]) -> Result<(), ErrorData> {
    match params.keys().all(|name| known.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(invalid_params()),
    }
}

fn typed<P: DeserializeOwned>(params: JsonObject) -> Result<P, ErrorData> {
    serde_json::from_value(Value::Object(params)).map_err(|_| invalid_params())
}

/// Cancellation is the only notification that changes anything here.
fn notification(method: &str, params: Option<Value>) -> Message {
    if method != "notifications/cancelled" {
        return Message::Nothing;
    }
    let id = match params {
        Some(Value::Object(mut params)) => params.remove("requestId"),
        _ => None,
    };
    match id.map(serde_json::from_value) {
        Some(Ok(id)) => Message::Cancel(id),
        _ => Message::Nothing,
    }
}
