//! What a server shows to clients and accepts from them: a tool that takes a key, or the
//! tool of one bound context. The methods are the same: `message` lists them.

use super::tool;
use keyhole_core::{Binding, BindingName, Key, Target};
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

/// What a server shows and accepts. It is fixed at the start, because the client's user
/// agrees to what the server shows then. What it serves does follow the map.
#[derive(Clone, Debug)]
pub struct Surface {
    tool: Tool,
    /// What every call asks for. None means that each caller names a key.
    target: Option<Target>,
}

impl Surface {
    /// A caller names a key and gets the key's file.
    #[must_use]
    pub fn general() -> Self {
        Self {
            tool: tool::general(),
            target: None,
        }
    }

    /// The context that the map calls `name`. Callers name no key. Without its `binding`, the map
    /// does not have it yet, or cannot be used. Then clients do not see the name either: it may
    /// be a key that the user put in the wrong place.
    #[must_use]
    pub fn bound(name: &BindingName, binding: Option<&Binding>) -> Self {
        let tool = match binding {
            Some(binding) => tool::bound(Some(name), binding.title(), binding.description()),
            None => tool::bound(None, None, None),
        };
        let target = Some(Target::Bound(name.clone()));
        Self { tool, target }
    }

    /// The context of `key`, which the operator names. The map says only which file the
    /// key stands for.
    #[must_use]
    pub fn to_key(name: &BindingName, key: Key) -> Self {
        Self {
            tool: tool::bound(Some(name), None, None),
            target: Some(Target::Given(key)),
        }
    }

    /// The one tool.
    pub(super) fn tool(&self) -> Tool {
        self.tool.clone()
    }

    /// Parses the arguments of a call into what it asks for. The error says what to send.
    pub(super) fn parse_arguments(
        &self,
        arguments: Option<JsonObject>,
    ) -> Result<Target, &'static str> {
        let mut arguments = arguments.unwrap_or_default();
        match &self.target {
            Some(target) if arguments.is_empty() => Ok(target.clone()),
            Some(_) => Err("This tool takes no arguments. Call again without any."),
            // The same whatever is wrong, so that it repeats no input.
            None => match (arguments.remove("key"), arguments.is_empty()) {
                (Some(Value::String(key)), true) => Ok(Target::Key(key)),
                _ => {
                    Err("Wrong arguments. Call again with exactly one, \"key\", which is a string.")
                }
            },
        }
    }
}
