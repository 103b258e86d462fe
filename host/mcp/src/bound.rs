//! The tool of a bound server: it has one context, and callers name no key.

use super::{refusals::WHAT_TO_DO, tool};
use keyhole_core::{Binding, BindingName, Key, Target};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

/// One context, as clients see it. It is taken from the map at the start and does
/// not change when the map changes. What the server serves does follow the map.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The context's name in the map.
    name: BindingName,
    /// Whether clients see the name. A name that is not in the map may be a key that
    /// the user put in the wrong place.
    shows_name: bool,
    /// The operator's key. None means the key of the map's binding.
    key: Option<Key>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
}

/// The model that may call the tool reads this text. The name and the map's own
/// description stand between `BEFORE` and `AFTER`. What to do on a refusal follows.
const BEFORE: &str = "\
Returns one private Markdown document, unchanged. It takes no arguments: \
this server has this one document";

const AFTER: &str = "

Call it when your own task needs this document, and use it for that task only. \
Pass it on to no person, agent, tool or file.";

impl Bound {
    /// The context that the map calls `name`.
    #[must_use]
    pub fn new(name: &BindingName, binding: &Binding) -> Self {
        Self {
            title: binding.title().map(Into::into),
            description: binding.description().map(Into::into),
            ..Self::named(name)
        }
    }

    /// The context of `key`, which the operator names. The map says only which file
    /// the key stands for.
    #[must_use]
    pub fn to_key(name: &BindingName, key: Key) -> Self {
        Self {
            key: Some(key),
            ..Self::named(name)
        }
    }

    /// A context `name` that the map does not have yet, or that waits for a usable
    /// map. The server later serves what the map says, but does not show it.
    #[must_use]
    pub fn waiting(name: &BindingName) -> Self {
        Self {
            shows_name: false,
            ..Self::named(name)
        }
    }

    fn named(name: &BindingName) -> Self {
        Self {
            name: name.clone(),
            shows_name: true,
            key: None,
            title: None,
            description: None,
        }
    }

    /// What every call asks for.
    pub(super) fn target(&self) -> Target {
        match &self.key {
            None => Target::Bound(self.name.clone()),
            Some(key) => Target::Given(key.clone()),
        }
    }

    /// The tool as `tools/list` shows it.
    pub(super) fn definition(&self) -> Tool {
        let name = &self.name;
        let title = match &self.title {
            Some(title) => title.to_string(),
            None if self.shows_name => format!("Load context: {name}"),
            None => "Load context".to_owned(),
        };
        let what = match &self.description {
            Some(description) => format!(", \"{name}\":\n{description}"),
            None if self.shows_name => format!(", \"{name}\"."),
            None => ".".to_owned(),
        };
        let description =
            format!("{BEFORE}{what}{AFTER}\n\n{WHAT_TO_DO}. Do not go on without the document.");
        tool::with_schema(&title, description, input_schema())
    }
}

fn input_schema() -> JsonObject {
    tool::object(json!({
        "type": "object",
        "properties": {},
        "additionalProperties": false,
    }))
}
