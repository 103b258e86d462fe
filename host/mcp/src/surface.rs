//! What a server shows to clients and accepts from them: the general surface, or
//! the surface of one bound context. The methods are the same: `message` lists them.

use super::{bound::Bound, tool};
use keyhole_core::Target;
use rmcp::model::{JsonObject, Tool};

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

impl Surface {
    /// The one tool.
    pub(super) fn tool(&self) -> Tool {
        match self {
            Self::General => tool::definition(),
            Self::Bound(bound) => bound.definition(),
        }
    }

    /// Parses the arguments of a call into what it asks for. The error says what to send.
    pub(super) fn parse_arguments(
        &self,
        arguments: Option<JsonObject>,
    ) -> Result<Target, &'static str> {
        match self {
            Self::General => tool::key(arguments).map(Target::Key),
            Self::Bound(bound) => match arguments.is_none_or(|given| given.is_empty()) {
                true => Ok(bound.target()),
                false => Err("This tool takes no arguments. Call again without any."),
            },
        }
    }
}
