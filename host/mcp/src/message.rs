//! Parses one line from the client. Only the parts of a request that the server uses are kept, and
//! nothing else is built. So a line never takes more memory than its own length, or three times
//! its length if its bytes are not UTF-8.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, CustomRequest,
    DiscoverRequest, DiscoverRequestParams, GetExtensions, Implementation, InitializeRequest,
    InitializeRequestParams, ListToolsRequest, PingRequest, ProtocolVersion, RequestMetaObject,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// The field of `_meta` in which Claude Code sends its id of a call of a tool. Claude Code's hooks
/// get the same id, and no model chooses it.
pub(super) const CALL_ID: &str = "claudecode/toolUseId";

pub(super) enum Message {
    /// A request. The first value is its id, as the client wrote it.
    Request(Box<RawValue>, Box<ClientRequest>),
    /// The client cancelled the request with this id.
    Cancel(Box<RawValue>),
}

/// What every message has: without an `id`, it is a notification.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    /// The method is parsed later: one that is no text is answered as an unknown method.
    #[serde(borrow)]
    method: &'a RawValue,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The fields of `params` that the methods which we serve use. A field that is missing has its
/// default.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
    /// Of `initialize`: the version that the client wants.
    protocol_version: ProtocolVersion,
    /// Of `tools/call`: the tool.
    name: String,
    /// Of `tools/call`: the arguments for the tool.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    /// Of `notifications/cancelled`: the id of the request that is cancelled.
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

/// The fields of a request's `_meta` that the server uses.
#[derive(Default, Deserialize)]
struct Meta<'a> {
    /// The version that the request states, as each does from version 2026-07-28 on.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<ProtocolVersion>,
    /// Whether there are any: what the client can do is not used.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<IgnoredAny>,
    /// [`CALL_ID`].
    #[serde(borrow, rename = "claudecode/toolUseId")]
    call_id: Option<&'a RawValue>,
}

/// Parses one line from the client. `{"id":1,"method":"ping"}` is a [`Message::Request`].
/// `{"method":"notifications/cancelled","params":{"requestId":1}}` is a [`Message::Cancel`].
///
/// None if the line is to be ignored: it is no JSON object with a `method` (`[]`, `hello`); it is
/// any other notification, which has no `id`; it cancels without a `requestId`; or the `id` or
/// `requestId` is an object or an array.
pub(super) fn parse(line: &[u8]) -> Option<Message> {
    // A byte that is no UTF-8 becomes U+FFFD, which no method, name or key of ours contains.
    let text = String::from_utf8_lossy(line);
    let fields: Fields<'_> = object(text.trim_ascii())?;
    // `params` that do not have the form of `Params`, such as an array, count as no params. rmcp
    // does the same.
    let params: Params<'_> = fields
        .params
        .and_then(|params| object(params.get()))
        .unwrap_or_default();
    // A method that is no text has the empty name, which no method of ours has.
    let method: Cow<'_, str> = serde_json::from_str(fields.method.get()).unwrap_or_default();
    if let Some(id) = fields.id {
        let request = request(&method, params);
        return Some(Message::Request(valid_id(id)?, request));
    }
    if method != "notifications/cancelled" {
        return None;
    }
    let cancelled = valid_id(params.request_id?)?;
    Some(Message::Cancel(cancelled))
}

/// Parses a JSON object into a `T`. None if the text is no object, such as `[]`, or does not fit
/// `T`. The first character is looked at because serde would also take an array for a struct.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let object = Some(text).filter(|text| text.starts_with('{'))?;
    serde_json::from_str(object).ok()
}

/// A copy of an id as the client wrote it: `7` or `"a"`. None for `{}` and `[7]`: no id may be an
/// object or an array.
fn valid_id(id: &RawValue) -> Option<Box<RawValue>> {
    if id.get().starts_with(['{', '[']) {
        return None;
    }
    Some(id.to_owned())
}

/// The request for `method`, with the parts of its params that the server uses. Its extensions have
/// the arguments of a call, as they are written, and of `_meta`: the version, whether there are
/// capabilities, and Claude Code's id of the call ([`CALL_ID`]), if that is a text.
///
/// The `match` has all methods that we serve. Any other method, such as `prompts/list`, becomes a
/// request that rmcp answers with an error. So do `initialize` and `ping` if the request states a
/// version that has no `initialize`: 2026-07-28 or later.
fn request(method: &str, params: Params<'_>) -> Box<ClientRequest> {
    let sent = params.meta.unwrap_or_default();
    let stated_version = sent.version.as_ref();
    // A client that states no version in its requests speaks one that has `initialize`.
    let may_initialize = stated_version.is_none_or(ProtocolVersion::has_initialize);
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
        // rmcp answers any method that it does not know with an error that has the method's name.
        _ => CustomRequest::new("method not found", None).into(),
    };
    let extensions = request.extensions_mut();
    if let Some(arguments) = params.arguments {
        extensions.insert(arguments.to_owned());
    }
    let mut meta = RequestMetaObject::new();
    if let Some(version) = sent.version {
        meta.set_protocol_version(version);
    }
    if sent.capabilities.is_some() {
        meta.set_client_capabilities(ClientCapabilities::default());
    }
    let call_id = sent.call_id.map(|id| serde_json::from_str(id.get()));
    if let Some(Ok(call_id)) = call_id {
        meta.insert(CALL_ID.into(), Value::String(call_id));
    }
    extensions.insert(meta);
    Box::new(request)
}
