//! Who makes a call, as far as the server can know it.
//!
//! A verified ticket says it, or else the operator; otherwise the caller is unknown. The server
//! never takes it from a parameter: a model fills in parameters.

use crate::{
    agent::AgentName,
    map::Key,
    refusal::Refusal,
    ticket::{Tickets, Unverified},
};
use std::sync::Arc;

/// Who makes a call.
#[derive(Clone, Debug, Default)]
pub enum Caller {
    /// Nobody has said who calls. Keys that are bound to agents are unknown to them.
    #[default]
    Nobody,
    /// This agent: the operator says so, with `serve --agent NAME`.
    Agent(AgentName),
    /// The agent that the ticket for this call names: `serve --require-ticket`.
    Ticket {
        /// The folder of tickets.
        tickets: Arc<Tickets>,
        /// The one agent that the server serves. None means any that a ticket names.
        only: Option<AgentName>,
        /// The client's id of this call, if it sent one.
        id: Option<Box<str>>,
        /// Tells the user why a call was refused, once for each. It must not block.
        tell: fn(&Unverified),
    },
}

impl Caller {
    /// The caller of the call with the client's `id`, on a server whose callers are these.
    #[must_use]
    pub fn of_call(&self, id: Option<&str>) -> Self {
        let mut caller = self.clone();
        if let Self::Ticket { id: of_call, .. } = &mut caller {
            *of_call = id.map(Into::into);
        }
        caller
    }

    /// The agent that calls, if anybody has said who, and the key in its ticket, which is used
    /// up. Else [`Unverified::code`]. It blocks: it may read files.
    pub fn verify(&self) -> Result<(Option<AgentName>, Option<Key>), Refusal> {
        let (tickets, only, id, tell) = match self {
            Self::Nobody => return Ok((None, None)),
            Self::Agent(agent) => return Ok((Some(agent.clone()), None)),
            Self::Ticket {
                tickets,
                only,
                id,
                tell,
            } => (tickets, only, id, tell),
        };
        let redeem = || {
            let ticket = tickets.redeem(id.as_deref().ok_or(Unverified::NoId)?)?;
            if only.as_ref().is_some_and(|only| *only != ticket.agent) {
                return Err(Unverified::OtherAgent);
            }
            Ok((Some(ticket.agent), ticket.key))
        };
        redeem().map_err(|why: Unverified| {
            let code = why.code();
            // The other code says all.
            if code == Refusal::CallerNotVerified {
                tell(&why);
            }
            code
        })
    }
}
