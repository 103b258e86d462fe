//! Who makes a call, as far as the server can know it.
//!
//! A verified ticket says it, or else the operator; otherwise the caller is
//! unknown. The server never takes it from a parameter: a model fills in
//! parameters.

use crate::{
    agent::AgentName,
    map::Key,
    refusal::Refusal,
    ticket::{Ticket, Tickets},
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
    },
}

impl Caller {
    /// The caller of the call with the client's `id`, on a server whose callers are these.
    /// Nothing is verified yet.
    #[must_use]
    pub fn of_call(&self, id: Option<&str>) -> Self {
        let mut caller = self.clone();
        if let Self::Ticket { id: of_call, .. } = &mut caller {
            *of_call = id.map(Into::into);
        }
        caller
    }

    /// The agent that calls, if anybody has said who, and the key in its ticket. This
    /// uses a ticket up. It blocks: it may read files.
    ///
    /// # Errors
    /// [`Refusal::CallerNotVerified`] if a ticket is required and there is none, or if
    /// the ticket names another agent than the one that the server serves.
    pub fn verify(&self) -> Result<(Option<AgentName>, Option<Key>), Refusal> {
        match self {
            Self::Nobody => Ok((None, None)),
            Self::Agent(agent) => Ok((Some(agent.clone()), None)),
            Self::Ticket { tickets, only, id } => id
                .as_deref()
                .map_or(Ok(None), |id| tickets.redeem(id))
                .map_err(|_| Refusal::RestartNeeded)?
                .filter(|Ticket { agent, .. }| only.as_ref().is_none_or(|only| only == agent))
                .map(|Ticket { agent, key }| (Some(agent), key))
                .ok_or(Refusal::CallerNotVerified),
        }
    }
}
