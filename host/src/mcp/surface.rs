//! What a server shows to clients and accepts from them: the general surface, or
//! the surface of one bound context. Each is a closed list: what is not in it does
//! not exist for clients.

use super::{bound::Bound, refusals::takes_no_arguments, tool};
use crate::call::Target;
use rmcp::{
    ErrorData,
    model::{JsonObject, Tool},
};

/// What a server shows and accepts. It is fixed at the start, because the client's
/// user agrees to what the server shows then.
#[derive(Clone, Debug, Default)]
pub enum Surface {
    /// A caller names a key and gets the key's file.
    #[default]
    General,
    /// The server has one context, and callers name no key.
    Bound(Bound),
}

/// The methods that a client of the general surface may call.
const GENERAL_METHODS: [&str; 5] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
];

/// The methods that a client of a bound surface may call. This list is separate, so
/// that a method added to the other list is not added here too.
const BOUND_METHODS: [&str; 5] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
];

impl Surface {
    /// All methods that the server answers. The answer to any other is "method not
    /// found".
    pub(super) const fn methods(&self) -> &'static [&'static str] {
        match self {
            Self::General => &GENERAL_METHODS,
            Self::Bound(_) => &BOUND_METHODS,
        }
    }

    /// The one tool.
    pub(super) fn tool(&self) -> Tool {
        match self {
            Self::General => tool::definition(),
            Self::Bound(bound) => bound.definition(),
        }
    }

    /// Parses the arguments of a call into what it asks for.
    ///
    /// # Errors
    /// `-32602`. The message repeats no input.
    pub(super) fn parse_arguments(
        &self,
        arguments: Option<JsonObject>,
    ) -> Result<Target, ErrorData> {
        match self {
            Self::General => tool::key(arguments).map(Target::Key),
            Self::Bound(bound) => match arguments.is_none_or(|given| given.is_empty()) {
                true => Ok(bound.target()),
                false => Err(takes_no_arguments()),
            },
        }
    }
}
