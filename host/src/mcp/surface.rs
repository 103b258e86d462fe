//! What a server shows of itself and takes: the general surface, or that of one
//! bound context. Each is a closed list; what is not admitted here is not there.

use super::{bound::Bound, tool};
use crate::loader::Asked;
use rmcp::{
    ErrorData,
    model::{JsonObject, Tool},
};

/// What a server shows and takes. It is settled at the start: a client's user
/// agrees to what is shown then.
#[derive(Clone, Debug, Default)]
pub enum Surface {
    /// A caller names a key, and gets what it stands for.
    #[default]
    General,
    /// The server is one context, and callers name nothing.
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

/// The methods that a client of a bound surface may call. It is a list of its
/// own, so that a method that is added to the other is not thereby added here.
const BOUND_METHODS: [&str; 5] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
];

impl Surface {
    /// All methods that are answered; any other is "method not found".
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

    /// What a call with these arguments asks for.
    ///
    /// # Errors
    /// `-32602`, in words that repeat no input.
    pub(super) fn asked(&self, arguments: Option<JsonObject>) -> Result<Asked, ErrorData> {
        match self {
            Self::General => tool::key(arguments).map(Asked::Key),
            Self::Bound(bound) => match arguments.is_none_or(|given| given.is_empty()) {
                true => Ok(bound.asked()),
                false => Err(ErrorData::invalid_params(
                    "this tool takes no arguments",
                    None,
                )),
            },
        }
    }
}
