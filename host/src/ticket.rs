//! One-time tickets: how the guard tells the server who makes a call.
//!
//! The client asks the guard before a call and then sends the call to the
//! server, with the same id. Guard and server are processes of the same user that
//! share only a private folder. A ticket is a file in this folder. Its file name
//! comes from the id; its text names the agent. It is valid for a minute, and can
//! be redeemed once.
//!
//! Only the user can write to that folder, and the user can read the mapped files
//! anyway. So a ticket tells agents apart, not users.

use crate::{
    agent::AgentName,
    hex::hex,
    walk::{Policy, System, WalkError, Walker, into_file},
};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

#[cfg(unix)]
#[path = "ticket/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "ticket/windows.rs"]
mod system;

/// The folder of tickets, in the plugin's data folder.
const FOLDER: &str = "tickets";

/// How long a ticket is valid. Between guard and call, the client only runs other
/// hooks, which takes seconds at most.
pub const LIFE: Duration = Duration::from_secs(60);

/// The folder of tickets.
#[derive(Debug)]
pub struct Tickets {
    /// The plugin's data folder.
    data: PathBuf,
}

/// Why a ticket could not be written. The message names no path, because a client
/// may show it to a model.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The folder of tickets is a link, is another user's, or is open to
    /// others.
    #[error(
        "the folder `tickets` in the plugin's data folder is not private to its user; remove it"
    )]
    NotPrivate,
    /// Others could change the plugin's data folder, or put another in its place.
    #[error("{}", system::NOT_TRUSTED)]
    NotTrusted,
    /// There is a ticket for this call already.
    #[error("this call was asked about before")]
    Again,
    /// The file system failed.
    #[error("no ticket can be left in the plugin's data folder: {0}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for TicketError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

impl Tickets {
    /// The tickets in the plugin's data folder. This opens nothing yet.
    #[must_use]
    pub fn under(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
        }
    }

    /// Opens the folder, and creates it if it is missing. It is for a server that
    /// will have only the right to delete in it.
    ///
    /// # Errors
    /// [`TicketError`].
    pub(crate) fn held(&self) -> Result<File, TicketError> {
        system::make_folder(&self.data()?)
    }

    /// Writes a ticket: `agent` makes the call with this `id`. It first cleans up
    /// old tickets.
    ///
    /// # Errors
    /// [`TicketError`]. Then there is no new ticket.
    pub fn leave(&self, id: &str, agent: &AgentName) -> Result<(), TicketError> {
        let folder = self.held()?;
        let now = SystemTime::now();
        system::sweep(&folder, now);
        let name = name(id);
        let mut ticket = system::make(&folder, &name)?;
        // The newline says that the name is complete. We set the time from our own
        // clock, because a network file system gives files the time of another
        // clock.
        let written = ticket
            .write_all(format!("{agent}\n").as_bytes())
            .and_then(|()| ticket.set_modified(now));
        written.map_err(|error| {
            drop(ticket);
            system::remove(&folder, &name);
            error.into()
        })
    }

    /// The agent that makes the call with this `id`, if there is a valid ticket for
    /// it. Valid or not, the ticket is used up: if several callers ask, one gets
    /// it.
    #[must_use]
    pub fn redeem(&self, id: &str) -> Option<AgentName> {
        let folder = system::folder_in(&self.data().ok()?).ok()?;
        let ticket = system::take(&folder, &name(id))?;
        let age = SystemTime::now().duration_since(ticket.metadata().ok()?.modified().ok()?);
        if !system::is_private_file(&ticket) || age.ok()? > LIFE {
            return None;
        }
        let mut text = String::new();
        (&ticket)
            .take(AgentName::MAX_BYTES as u64 + 2)
            .read_to_string(&mut text)
            .ok()?;
        text.strip_suffix('\n')
            .and_then(|agent| agent.try_into().ok())
    }

    /// The plugin's data folder, if nobody else could have put it there or written
    /// in it. Then its content stays where it is.
    fn data(&self) -> Result<File, TicketError> {
        match Walker::new(System).walk(&self.data, Policy::TRUSTED_DIRECTORY) {
            Ok(data) => into_file(data.handle).ok_or(TicketError::Io(io::ErrorKind::NotFound)),
            Err(WalkError::Untrusted(_)) => Err(TicketError::NotTrusted),
            Err(WalkError::Missing) => Err(TicketError::Io(io::ErrorKind::NotFound)),
            Err(WalkError::Denied) => Err(TicketError::Io(io::ErrorKind::PermissionDenied)),
            Err(_) => Err(TicketError::Io(io::ErrorKind::Other)),
        }
    }
}

/// The file name for an id. It is a hash, because an id comes from outside and this
/// is part of a path. Its length and alphabet are the same for every id.
fn name(id: &str) -> String {
    hex(&Sha256::digest(id))
}

#[cfg(test)]
mod tests;
