//! The tool of a bound server: one context, and no key to name.

use super::tool;
use crate::{
    loader::Asked,
    map::{Binding, Key},
};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;
use std::sync::Arc;

/// One context, as it is shown. It is taken from the map at the start and stays,
/// whatever becomes of the map; what is served does not.
#[derive(Clone, Debug)]
pub struct Bound {
    name: Arc<str>,
    /// The operator's key; None means that of the map's binding.
    key: Option<Key>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
}

/// Read by the model that may call the tool. The name, and the map's own words,
/// stand between these two.
const BEFORE: &str = "\
Returns one private Markdown document, unchanged. It takes no arguments: \
this server has this one document, ";

const AFTER: &str = "

Call it when your own task needs this document, and use it for that task only. \
Pass it on to no person, agent, tool or file.

A refusal reads `code: what to do`. On `changed`, `timed-out`, `busy`, `out-of-resources` \
or `internal`, call again, at most twice. On any other code, stop: tell whoever gave you the task \
the code and its advice. Do not go on without the document.";

impl Bound {
    /// The context that the map calls `name`.
    #[must_use]
    pub fn new(name: &str, binding: &Binding) -> Self {
        Self {
            name: name.into(),
            key: None,
            title: binding.title().map(Into::into),
            description: binding.description().map(Into::into),
        }
    }

    /// The context of `key`, which the operator names. The map says nothing of it
    /// but which file that is.
    #[must_use]
    pub fn to_key(name: &str, key: Key) -> Self {
        Self {
            name: name.into(),
            key: Some(key),
            title: None,
            description: None,
        }
    }

    /// What every call asks for.
    pub(super) fn asked(&self) -> Asked {
        match &self.key {
            None => Asked::Bound(Arc::clone(&self.name)),
            Some(key) => Asked::Given(key.clone()),
        }
    }

    /// The tool as `tools/list` shows it.
    pub(super) fn definition(&self) -> Tool {
        let name = &self.name;
        let title = match &self.title {
            Some(title) => title.to_string(),
            None => format!("Load context: {name}"),
        };
        let what = match &self.description {
            Some(description) => format!("\"{name}\":\n{description}"),
            None => format!("\"{name}\"."),
        };
        tool::with_schema(&title, format!("{BEFORE}{what}{AFTER}"), input_schema())
    }
}

fn input_schema() -> JsonObject {
    tool::object(json!({
        "type": "object",
        "properties": {},
        "additionalProperties": false,
    }))
}
