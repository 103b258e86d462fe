//! What a refusal says, whoever refuses. No text repeats any input. (rmcp's repeats a protocol
//! version that it does not know, if that is a date.)
//!
//! The errors of the protocol are here, and the refusal of a call with its [`Refusal`].

use super::server::VERSIONS;
use keyhole_core::Refusal;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode},
};
use serde_json::json;

/// What a model does on a refusal. Each tool's description holds it.
pub(super) const WHAT_TO_DO: &str = "\
A refusal reads `code: what to do`. On `changed`, `busy`, `out-of-resources` or `internal`, \
call again, at most twice. On any other code, stop: tell whoever gave you the task \
the code and its advice";

/// The line is not JSON.
pub(super) fn not_json() -> ErrorData {
    ErrorData::parse_error("not valid JSON", None)
}

/// The line is JSON, but no message.
pub(super) fn not_a_message() -> ErrorData {
    ErrorData::invalid_request("not a JSON-RPC 2.0 request, notification or response", None)
}

/// The line is longer than a line may be.
pub(super) fn line_too_long() -> ErrorData {
    ErrorData::invalid_request("line too long", None)
}

/// Another request with this id is in flight.
pub(super) fn id_in_use() -> ErrorData {
    ErrorData::invalid_request("this id is in use", None)
}

/// This server or this protocol version does not have the method.
pub(super) fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "method not found", None)
}

/// The method does not take these params.
pub(super) fn invalid_params() -> ErrorData {
    ErrorData::invalid_params("params do not have the form that this method takes", None)
}

/// The protocol version is not a date. This is rmcp's error for an unknown version, but without
/// the client's text: the schema demands some text there.
pub(super) fn not_a_version() -> ErrorData {
    let data = json!({ "requested": "not a date", "supported": VERSIONS });
    ErrorData::new(
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        Some(data),
    )
}

/// The list has one page, so no cursor leads to another.
pub(super) fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params("unknown cursor", None)
}

/// The call is for another tool.
pub(super) fn unknown_tool() -> ErrorData {
    ErrorData::invalid_params("unknown tool", None)
}

/// The tool does not take these arguments. A model may never see an error of the
/// protocol, so this is a result. `advice` says what to send.
pub(super) fn wrong_arguments(advice: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(advice)])
}

/// The call is refused. The text contains the code too, because some clients pass on
/// only the text of an error.
pub(super) fn refused(code: Refusal) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(code.to_string())]);
    result.structured_content = Some(json!({
        "code": code.as_str(),
        "message": code.advice(),
    }));
    result
}
