//! Who makes a call, as far as the server can know it.
//!
//! A verified ticket says it, or else the operator; otherwise the caller is
//! unknown. The server never takes it from a parameter: a model fills in
//! parameters.

use crate::{
    agent::AgentName,
    map::Key,
    refusal::Refusal,
    ticket::{NoTicket, Tickets},
};
use std::sync::Arc;

/// Why a caller is not verified. Callers learn only [`Unverified::code`]; the text is for the
/// user, and holds no name, key or path. It does not depend on the map.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    /// The client does not say which call it is.
    #[error("the client sent no id with the call (claudecode/toolUseId), so it can have no ticket")]
    NoId,
    /// There is no ticket, or it cannot be used.
    #[error("no ticket: {0}")]
    NoTicket(#[from] NoTicket),
    /// The ticket is another agent's.
    #[error("the ticket is for another agent than the one that --agent names")]
    OtherAgent,
}

impl Unverified {
    /// What the caller learns.
    pub fn code(&self) -> Refusal {
        match self {
            Self::NoTicket(NoTicket::MadeAgain) => Refusal::RestartNeeded,
            _ => Refusal::CallerNotVerified,
        }
    }
}

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
