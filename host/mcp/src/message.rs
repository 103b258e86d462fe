//! Parses one line from the client. Of a request, only what the server uses is kept, and nothing
//! else is built: a line takes its own length of memory, whatever it is full of, or three times as
//! much if its bytes are not UTF-8.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, CustomRequest,
    DiscoverRequest, DiscoverRequestParams, GetExtensions, Implementation, InitializeRequest,
    InitializeRequestParams, ListToolsRequest, PingRequest, ProtocolVersion, RequestMetaObject,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// Where Claude Code sends its id of a call. Its hooks get the same, and no model chooses it.
pub(super) const CALL_ID: &str = "claudecode/toolUseId";

pub(super) enum Message {
    /// A request, with the client's id as it is written.
    Request(Box<RawValue>, Box<ClientRequest>),
    /// The client cancelled this request.
    Cancel(Box<RawValue>),
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    /// It is parsed later: a method that is no text is one that we do not know, and no error.
    #[serde(borrow)]
    method: &'a RawValue,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// What the methods that we serve use of their params.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
    protocol_version: ProtocolVersion,
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<ProtocolVersion>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<IgnoredAny>,
    #[serde(borrow, rename = "claudecode/toolUseId")]
    call_id: Option<&'a RawValue>,
}

/// Parses one line from the client: `{"id":1,"method":"ping"}` is a request, and the notification
/// `notifications/cancelled` with a `requestId` cancels one.
///
/// None if the line is to be ignored: it is no object with a method, it is another notification, it
/// cancels without a `requestId`, or one of these ids is an object or an array.
pub(super) fn read(line: &[u8]) -> Option<Message> {
    // A byte that is no UTF-8 becomes U+FFFD, which no method, name or key of ours contains.
    let text = String::from_utf8_lossy(line);
    let fields: Fields<'_> = object(text.trim_ascii())?;
    // As in rmcp, params of another form count as none.
    let params: Params<'_> = fields
        .params
        .and_then(|params| object(params.get()))
        .unwrap_or_default();
    // A method that is no text has the empty name, which no method of ours has.
    let method: Cow<'_, str> = serde_json::from_str(fields.method.get()).unwrap_or_default();
    if let Some(id) = fields.id {
        let request = request(&method, params);
        return Some(Message::Request(owned(id)?, request));
    }
    if method == "notifications/cancelled" {
        let cancelled = owned(params.request_id?)?;
        return Some(Message::Cancel(cancelled));
    }
    None
}

/// Parses a JSON object. None if the text is anything else: serde would take an array for one, too.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let object = Some(text).filter(|text| text.starts_with('{'))?;
    serde_json::from_str(object).ok()
}

/// A copy of an id as the client wrote it: `7` or `"a"`. None for `{}` and `[7]`: no id may be an
/// object or an array.
fn owned(id: &RawValue) -> Option<Box<RawValue>> {
    if id.get().starts_with(['{', '[']) {
        return None;
    }
    Some(id.to_owned())
}

/// The request for `method`, with what the server uses of its params: the arguments of a call, as
/// they are written, and of `_meta` the version, whether there are capabilities, and Claude Code's
/// id of the call.
///
/// The `match` has all methods that we serve. Any other method becomes a request that is answered
/// with an error, and so do `initialize` and `ping` if the request states a version that has no
/// `initialize`.
fn request(method: &str, params: Params<'_>) -> Box<ClientRequest> {
    // What the request's `_meta` has, of any method.
    let of_call = params.meta.unwrap_or_default();
    let stated = of_call.version.as_ref();
    // From 2026-07-28 on, a request states its version, and there is no `initialize`.
    let may_initialize = stated.is_none_or(ProtocolVersion::has_initialize);
    let mut request: ClientRequest = match method {
        "initialize" if may_initialize => {
            let client = Implementation::new("", "");
            let hello = InitializeRequestParams::new(ClientCapabilities::default(), client)
                .with_protocol_version(params.protocol_version);
            InitializeRequest::new(hello).into()
        }
        "ping" if may_initialize => PingRequest::default().into(),
        "server/discover" => DiscoverRequest::new(DiscoverRequestParams {}).into(),
        "tools/list" => ListToolsRequest::default().into(),
        "tools/call" => CallToolRequest::new(CallToolRequestParams::new(params.name)).into(),
        // rmcp answers that it does not know this method, and says its name.
        _ => CustomRequest::new("method not found", None).into(),
    };
    let extensions = request.extensions_mut();
    if let Some(arguments) = params.arguments {
        extensions.insert(arguments.to_owned());
    }
    let mut meta = RequestMetaObject::new();
    if let Some(version) = of_call.version {
        meta.set_protocol_version(version);
    }
    if of_call.capabilities.is_some() {
        meta.set_client_capabilities(ClientCapabilities::default());
    }
    let call_id = of_call.call_id.map(|id| serde_json::from_str(id.get()));
    if let Some(Ok(call_id)) = call_id {
        meta.insert(CALL_ID.into(), Value::String(call_id));
    }
    extensions.insert(meta);
    Box::new(request)
}
