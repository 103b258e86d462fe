//! Who makes a call, as far as the server can know: a ticket says it, or the operator who started
//! the server. It is never taken from a parameter of the call: a model fills in parameters.

use crate::{
    agent::AgentName,
    map::Key,
    refusal::Refusal,
    ticket::{Ticket, Tickets, Unverified},
};
use std::sync::Arc;

/// Who makes a call.
#[derive(Clone, Debug, Default)]
pub enum Caller {
    /// Nobody has said who calls. Such a caller gets no file that is bound to agents.
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
    /// The caller of one call. `self` is what the server was started with, and `id` is the
    /// client's id of the call, if it sent one.
    pub fn of_call(&self, id: Option<&str>) -> Self {
        let mut caller = self.clone();
        if let Self::Ticket { id: of_call, .. } = &mut caller {
            *of_call = id.map(Into::into);
        }
        caller
    }

    /// Who makes this call: of [`Self::Nobody`], no agent and no key; of [`Self::Agent`], that
    /// agent and no key; of [`Self::Ticket`], what the call's ticket says, which is then used up.
    ///
    /// # Errors
    /// Only with tickets: [`Refusal::RestartNeeded`] if the folder of tickets was made again since
    /// the server started; [`Refusal::CallerNotVerified`] if the call has no valid ticket, or has
    /// that of another agent than the one that is served. Of the second, `tell` tells the user why.
    pub(crate) fn verify(&self) -> Result<Verified, Refusal> {
        match self {
            Self::Nobody => Ok(Verified::default()),
            Self::Agent(agent) => Ok(Verified {
                agent: Some(agent.clone()),
                ticket_key: None,
            }),
            Self::Ticket {
                tickets,
                only,
                id,
                tell,
            } => match redeem(tickets, only.as_ref(), id.as_deref()) {
                Ok(ticket) => Ok(Verified {
                    agent: Some(ticket.agent),
                    ticket_key: ticket.key,
                }),
                // This code says all that the user must know, so `tell` is not needed.
                Err(Unverified::MadeAgain) => Err(Refusal::RestartNeeded),
                Err(why) => {
                    tell(&why);
                    Err(Refusal::CallerNotVerified)
                }
            },
        }
    }
}

/// What is known of the caller, once nothing speaks against serving it.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    /// The agent that calls. None if nobody has said who.
    pub(crate) agent: Option<AgentName>,
    /// The key that the guard judged and wrote into the call's ticket. None if there is no
    /// ticket, or none with a key.
    pub(crate) ticket_key: Option<Key>,
}

/// The ticket of the call with this `id`, which is then used up. `only` is the one agent that the
/// server serves; None means any.
///
/// # Errors
/// [`Unverified::NoId`] if the client sent no id; [`Unverified::OtherAgent`] if the ticket names
/// another agent than `only`; and what [`Tickets::redeem`] says.
fn redeem(
    tickets: &Tickets,
    only: Option<&AgentName>,
    id: Option<&str>,
) -> Result<Ticket, Unverified> {
    let ticket = tickets.redeem(id.ok_or(Unverified::NoId)?)?;
    if only.is_some_and(|only| *only != ticket.agent) {
        return Err(Unverified::OtherAgent);
    }
    Ok(ticket)
}
