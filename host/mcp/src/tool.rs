//! The one tool, which takes a key or has one bound context: what a client sees, and its answers.

use super::message::object;
use keyhole_core::{Binding, BindingName, Key, Refusal, Target, limits::MAX_CLAUDE_CHARS};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) const NAME: &str = "load_context";

/// What a model reads: when to call, when not, and what to do next. Nothing in it depends on the
/// map. What to do on a refusal follows.
const GENERAL: &str = "Returns one private Markdown document, unchanged, for a key.

Call it only if your own instructions give you a key, and with that key only. Never guess a key, change one, or ask for one. Use the document for your own task. Pass neither the document nor the key on to any person, agent, tool or file.";

/// The same for a bound server. The context's name and description stand before `BOUND_END`.
const BOUND: &str = "Returns one private Markdown document, unchanged. It takes no arguments: this server has this one document";

const BOUND_END: &str = "

Call it when your own task needs this document, and use it for that task only. Pass it on to no person, agent, tool or file.";

const END: &str = "Do not go on without the document.";

/// What a model is told to do on a refusal: on a code that may pass by itself (`is_passing`), it
/// calls again, and on any other it stops. The text ends without a full stop, since callers go on
/// with it.
fn what_to_do() -> String {
    let mut names = Vec::new();
    for code in Refusal::ALL {
        if code.is_passing() {
            names.push(format!("`{}`", code.as_str()));
        }
    }
    format!(
        "A refusal reads `code: what to do`. On one of {}, call again, at most twice. On any \
         other code, stop: tell whoever gave you the task the code and its advice",
        names.join(", ")
    )
}

/// What a server shows and accepts. It is fixed at the start, because the client's user
/// agrees to what the server shows then. What it serves does follow the map.
#[derive(Clone, Debug)]
pub struct Surface {
    pub(super) tool: Tool,
    /// What every call asks for. None means that each caller names a key.
    target: Option<Target>,
}

impl Surface {
    /// The surface of a server for all keys: a caller names a key, and gets the key's file.
    pub fn general() -> Self {
        let key = json!({
            "type": "string",
            "minLength": 1,
            // This only tells the client the limit. The loader refuses a longer key.
            "maxLength": Key::MAX_LEN,
            "description": "The key from your own instructions, exactly as it stands there.",
        });
        let schema = json!({
            "type": "object",
            "properties": { "key": key },
            "required": ["key"],
            "additionalProperties": false,
        });
        let description = format!("{GENERAL}\n\n{}, without the key. {END}", what_to_do());
        let tool = tool("Load context", description, schema);
        Self { tool, target: None }
    }

    /// The context that the map calls `name`. Callers name no key. Without its `binding`, the map
    /// does not have it yet, or cannot be used. Then clients do not see the name either: it may
    /// be a key that the user put in the wrong place.
    pub fn bound(name: &BindingName, binding: Option<&Binding>) -> Self {
        let tool = bound(binding.and(Some(&**name)), binding);
        let target = Some(Target::Bound(name.clone()));
        Self { tool, target }
    }

    /// The context of `key`, which the operator names.
    pub fn to_key(name: &BindingName, key: Key) -> Self {
        let tool = bound(Some(name), None);
        let target = Some(Target::OperatorsKey(key));
        Self { tool, target }
    }

    /// What a call with these arguments asks for. The error says what to send, without any input.
    pub(super) fn parse_arguments(&self, arguments: &str) -> Result<Target, &'static str> {
        match &self.target {
            Some(target) => object::<NoArguments>(arguments)
                .map(|_| target.clone())
                .ok_or("This tool takes no arguments. Call again without any."),
            None => object::<OneKey>(arguments)
                .map(|arguments| Target::SentKey(arguments.key))
                .ok_or("Wrong arguments. Call again with exactly one, \"key\", which is a string."),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneKey {
    key: String,
}

/// The tool of a server with one context. With the name `notes`, its title is
/// `Load context: notes`, and its description says `this one document, "notes".` A title of the
/// binding takes the place of this title, and a description of the binding stands behind the name.
/// Without a name, the title is `Load context`. A binding never comes without its name.
fn bound(name: Option<&str>, binding: Option<&Binding>) -> Tool {
    let own_title = binding.and_then(|binding| binding.title.as_deref());
    let title = match (own_title, name) {
        (Some(title), _) => title.to_owned(),
        (None, Some(name)) => format!("Load context: {name}"),
        (None, None) => "Load context".to_owned(),
    };
    let named = match name {
        Some(name) => format!(", \"{name}\""),
        None => String::new(),
    };
    let what = match binding.and_then(|binding| binding.description.as_deref()) {
        Some(text) => format!("{named}:\n{text}"),
        None => format!("{named}."),
    };
    let description = format!("{BOUND}{what}{BOUND_END}\n\n{}. {END}", what_to_do());
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    tool(&title, description, schema)
}

/// The tool with this title, this description and this schema of its arguments. It only reads.
fn tool(title: &str, description: String, schema: Value) -> Tool {
    let meta = json!({ "anthropic/maxResultSizeChars": MAX_CLAUDE_CHARS });
    Tool::new(NAME, description, rmcp::model::object(schema))
        .with_title(title)
        .with_annotations(
            ToolAnnotations::new()
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
        .with_meta(MetaObject(rmcp::model::object(meta)))
}

/// An error for the model: it may never see one of the protocol.
pub(super) fn error(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The call is refused. Some clients pass on only the text of an error, so that has the code.
pub(super) fn refused(code: Refusal) -> CallToolResult {
    let mut result = error(code.to_string());
    let content = json!({ "code": code.as_str(), "message": code.advice() });
    result.structured_content = Some(content);
    result
}
