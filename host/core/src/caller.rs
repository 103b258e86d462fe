//! Who makes a call, as far as the server can know it: a ticket says it, or else the operator. The
//! server never takes it from a parameter: a model fills in parameters.

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
    pub fn of_call(&self, id: Option<&str>) -> Self {
        let mut caller = self.clone();
        if let Self::Ticket { id: of_call, .. } = &mut caller {
            *of_call = id.map(Into::into);
        }
        caller
    }

    /// The agent that calls, if anybody has said who, and its ticket's key. It may read files.
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
        let ticket = id.as_deref().ok_or(Unverified::NoId);
        let ticket = ticket.and_then(|id| tickets.redeem(id));
        let is_other = |agent: &AgentName| only.as_ref().is_some_and(|only| only != agent);
        match ticket {
            Ok(ticket) if !is_other(&ticket.agent) => Ok((Some(ticket.agent), ticket.key)),
            // That code says all.
            Err(Unverified::MadeAgain) => Err(Refusal::RestartNeeded),
            ticket => {
                tell(&ticket.err().unwrap_or(Unverified::OtherAgent));
                Err(Refusal::CallerNotVerified)
            }
        }
    }
}
