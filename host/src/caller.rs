//! Who makes a call, as far as that can be known.
//!
//! A verified ticket, else the operator's statement, else nobody. It is never
//! taken from a parameter: those are filled in by a model.

use crate::{Code, ticket::Tickets};
use std::sync::Arc;

/// How a server learns who its callers are. Set once, by whoever starts it.
#[derive(Clone, Debug, Default)]
pub enum Callers {
    /// It does not. Keys that are bound to agents do not exist for its callers.
    #[default]
    Unknown,
    /// Its operator says that every caller is this agent: `serve --agent NAME`.
    Stated(Arc<str>),
    /// Each call needs a ticket of its own: `serve --require-ticket`. With
    /// `--agent` as well, the ticket must name that agent.
    Ticketed {
        /// Where tickets are left.
        tickets: Arc<Tickets>,
        /// The one agent that is served; None means whoever the ticket names.
        only: Option<Arc<str>>,
    },
}

impl Callers {
    /// The caller of the call that the client numbered `id`. Nothing is verified
    /// yet; see [`Caller::agent`].
    #[must_use]
    pub fn of_call(&self, id: Option<&str>) -> Caller {
        match self {
            Self::Unknown => Caller::Nobody,
            Self::Stated(agent) => Caller::Agent(agent.clone()),
            Self::Ticketed { tickets, only } => Caller::Ticket {
                tickets: tickets.clone(),
                only: only.clone(),
                id: id.map(Into::into),
            },
        }
    }
}

/// Who makes one call.
#[derive(Clone, Debug)]
pub enum Caller {
    /// Nobody has said.
    Nobody,
    /// This agent, as `plugin:agent`.
    Agent(Arc<str>),
    /// Whoever the ticket for this call names.
    Ticket {
        /// Where tickets are left.
        tickets: Arc<Tickets>,
        /// The one agent that is served; None means whoever the ticket names.
        only: Option<Arc<str>>,
        /// The client's id of this call, if it sent one.
        id: Option<Box<str>>,
    },
}

impl Caller {
    /// The agent that calls; none where nobody has said. A ticket is used up by
    /// this. It blocks: it may read files.
    ///
    /// # Errors
    /// [`Code::CallerNotVerified`] if a ticket is required and there is none, or
    /// one that names another agent than the one that is served.
    pub fn agent(&self) -> Result<Option<Arc<str>>, Code> {
        match self {
            Self::Nobody => Ok(None),
            Self::Agent(agent) => Ok(Some(agent.clone())),
            Self::Ticket { tickets, only, id } => id
                .as_deref()
                .and_then(|id| tickets.redeem(id))
                .filter(|agent| only.as_deref().is_none_or(|only| *only == **agent))
                .map(|agent| Some(agent.into()))
                .ok_or(Code::CallerNotVerified),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::Callers;
    use crate::{Code, ticket::Tickets};

    #[test]
    fn a_ticket_says_who_calls_and_to_the_server_of_one_agent_only_that_one() {
        let data = tempfile::tempdir().unwrap();
        let tickets = || Tickets::under(data.path());
        for (only, agent, named) in [
            (None, "a:b", Ok(Some("a:b"))),
            (Some("a:b"), "a:b", Ok(Some("a:b"))),
            (Some("a:b"), "a:c", Err(Code::CallerNotVerified)),
        ] {
            let callers = Callers::Ticketed {
                tickets: tickets().into(),
                only: only.map(Into::into),
            };
            tickets().leave("call", agent).unwrap();
            let caller = callers.of_call(Some("call"));
            assert_eq!(caller.agent(), named.map(|name| name.map(Into::into)));
            // It is used up.
            assert_eq!(caller.agent(), Err(Code::CallerNotVerified));
        }
    }
}
