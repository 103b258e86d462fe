//! The one tool, which takes a key or has one bound context: what a client sees, and its answers.

use super::message::object;
use keyhole_core::{Binding, BindingName, Key, Refusal, Target, limits::MAX_CLAUDE_CHARS};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) const NAME: &str = "load_context";

/// The tool's description for a model, if callers name a key: when to call, when not, and what to
/// do next. Nothing in it depends on the map. [`what_to_do`] follows.
const GENERAL: &str = "Returns one private Markdown document, unchanged, for a key.

Call it only if your own instructions give you a key, and with that key only. Never guess a key, change one, or ask for one. Use the document for your own task. Pass neither the document nor the key on to any person, agent, tool or file.";

/// The beginning of the tool's description if the server has one document. The document's name and
/// description follow, then [`BOUND_END`].
const BOUND_BEGINNING: &str = "Returns one private Markdown document, unchanged. It takes no arguments: this server has this one document";

/// What follows the document's name and description. [`what_to_do`] comes next.
const BOUND_END: &str = "

Call it when your own task needs this document, and use it for that task only. Pass it on to no person, agent, tool or file.";

/// The last sentence of both descriptions.
const END: &str = "Do not go on without the document.";

/// The sentences that tell a model what to do on a refusal. On a code whose cause may pass by
/// itself (`is_passing`), such as `busy`, the model calls again; on any other, it stops. The text
/// ends without a full stop, because the two descriptions continue it: `, without the key.`
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

/// What a server shows to clients, and which arguments it accepts. A surface is fixed at the start,
/// because the client's user agrees to what the server shows then. Which file is served follows the
/// map as it is at each call.
#[derive(Clone, Debug)]
pub struct Surface {
    pub(super) tool: Tool,
    /// What every call asks for, if the server has one document. None if each caller names a key.
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

    /// The surface of a server for the binding `name`: callers name no key, and get the file that
    /// the map has for this binding.
    ///
    /// `binding` is None if the map has no such binding yet, or cannot be used. Then clients do not
    /// see the name either: it may be a key that the user put in the wrong place.
    pub fn bound(name: &BindingName, binding: Option<&Binding>) -> Self {
        let shown_name = binding.and(Some(&**name));
        let tool = tool_without_key(shown_name, binding);
        let target = Some(Target::Bound(name.clone()));
        Self { tool, target }
    }

    /// The surface of a server for the file of `key`, which the operator gave at the start. Callers
    /// name no key, and see `name` only.
    pub fn to_key(name: &BindingName, key: Key) -> Self {
        let tool = tool_without_key(Some(name), None);
        let target = Some(Target::OperatorsKey(key));
        Self { tool, target }
    }

    /// What a call with these arguments asks for. A server with one document accepts `{}` only. Any
    /// other server accepts `{"key":"a1"}` only: one key, which is a string.
    ///
    /// # Errors
    /// Other arguments, or a text that is no JSON object: what to send instead. The error repeats
    /// nothing of the arguments.
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

/// `{}`, and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// `{"key":"a1"}`, with any text, and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneKey {
    key: String,
}

/// The tool of a server with one document, which takes no arguments.
///
/// The title is the binding's own title; without one, `Load context: notes` for the name `notes`;
/// without a name, `Load context`. The description begins with [`BOUND_BEGINNING`] and the name:
/// `this server has this one document, "notes".` If the binding has a description, this stands
/// behind the name and a colon. A caller that gives a binding also gives a name.
fn tool_without_key(name: Option<&str>, binding: Option<&Binding>) -> Tool {
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
    let description = format!(
        "{BOUND_BEGINNING}{what}{BOUND_END}\n\n{}. {END}",
        what_to_do()
    );
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    tool(&title, description, schema)
}

/// The tool `load_context` with this title, this description and this schema of its arguments. It
/// tells clients that it only reads, and how long a result Claude Code may pass on to its model.
fn tool(title: &str, description: String, schema: Value) -> Tool {
    let meta = json!({ "anthropic/maxResultSizeChars": MAX_CLAUDE_CHARS });
    Tool::new(NAME, description, rmcp::model::object(schema))
        .with_title(title)
        .with_annotations(
            // Not "open world": the tool reaches the mapped files, and nothing else.
            ToolAnnotations::new()
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
        .with_meta(MetaObject(rmcp::model::object(meta)))
}

/// An error that the model sees, because it is a result of the tool. Clients need not show a model
/// an error of the protocol.
pub(super) fn error(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A refusal: its code and advice as a text, `busy: …`, and the same as structured content. Some
/// clients pass on only the text of an error, so the text has the code too.
pub(super) fn refused(code: Refusal) -> CallToolResult {
    let mut result = error(code.to_string());
    let content = json!({ "code": code.as_str(), "message": code.advice() });
    result.structured_content = Some(content);
    result
}
