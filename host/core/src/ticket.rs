//! One-time tickets: how the guard tells the server who makes a call.
//!
//! The client asks the guard before a call, and then sends the call to the server, with the same
//! id. A ticket is a file in a private folder of the two processes' user. Its name comes from the
//! id; its text names the agent, and the key that it asked for. It is valid for a minute, and can
//! be redeemed once. The user can read the mapped files anyway: so it tells agents apart, not
//! users.
//!
//! Another server may have taken the name of ours, and gets the call instead. So the call need not
//! hold the key. And after it, only a receipt without its ticket says that our server answered.

mod folder;

use crate::{agent::AgentName, map::Key};
use keyhole_walk::{Handle, Policy, System, SystemError, WalkError, Walked, Walker};
use rustix::{
    fs::{Access, access},
    process::geteuid,
};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, DirBuilder, File, Metadata},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The name of the folder of tickets in the data folder.
const TICKETS_FOLDER: &str = "tickets";

/// How long a ticket is valid. Until the call, the client only runs other hooks.
pub const TICKET_LIFE: Duration = Duration::from_secs(60);

/// How long a receipt is valid: a ticket's life, and time for the call that it is for.
const RECEIPT_LIFE: Duration = Duration::from_secs(90);

/// The most files that one clean-up looks at, so that a folder that someone filled delays no call.
const MAX_SWEPT: usize = 256;

/// What a ticket says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Who makes the call.
    pub agent: AgentName,
    /// The key that the guard judged. None if the server has its own.
    pub key: Option<Key>,
}

/// The folder `tickets` in a data folder.
#[derive(Debug)]
pub struct Tickets {
    /// The absolute path of the data folder: the plugin's, or one that holds nothing else.
    data_path: PathBuf,
    /// The process of the client whose calls these tickets are for, as the guard is told it, or
    /// the process that started the server.
    client: Option<u32>,
}

/// Why a ticket cannot be used. It names no path: a client may show it to a model.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The data folder's path is relative, so it means another folder in another process.
    #[error("the folder that Keyhole keeps tickets in is not an absolute path")]
    Relative,
    /// The folder of tickets is a link, is another user's, or is open to others.
    #[error(
        "the folder `tickets` in the folder that Keyhole keeps them in is not private to its user; remove it"
    )]
    NotPrivate,
    /// Others could change the data folder, or put another in its place.
    #[error(
        "others can write to the folder that Keyhole keeps tickets in, or to a directory above it, or it is theirs; run: chmod go-w on it, or use another"
    )]
    NotTrusted,
    /// Another user, with this number, has the folder or one above it, and keeps this one out.
    #[error(
        "the folder that Keyhole keeps tickets in, or one above it, belongs to another user (number {0}; 0 is root, as after a command under sudo): make it yours again, or remove it"
    )]
    Foreign(u32),
    /// There is a ticket for this call already.
    #[error("this call was asked about before")]
    Again,
    /// The file system failed.
    #[error("the folder that Keyhole keeps tickets in cannot be used: {0}")]
    System(#[from] SystemError),
}

impl From<io::Error> for TicketError {
    fn from(error: io::Error) -> Self {
        SystemError::Failed(error.kind()).into()
    }
}

/// Why a caller is not verified. Callers learn only a code; the text is for the user, and holds no
/// name, key or path. It does not depend on the map.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    /// The client does not say which call it is.
    #[error("the client sent no id with the call (claudecode/toolUseId), so it can have no ticket")]
    NoId,
    /// The hook left none, or it is used up.
    #[error(
        "no ticket: there is none for this call: the client's hook did not run or refused the call, or the client did not start this server itself"
    )]
    Missing,
    /// It is too old, was not written to its end, or others may have changed it.
    #[error(
        "no ticket: the one for this call is older than a minute, or not whole, or not private"
    )]
    Void,
    /// The folder cannot be used.
    #[error("no ticket: {0}")]
    Folder(#[from] TicketError),
    /// There is one that this process may not open: the data folder was made again since it
    /// restricted itself.
    #[error("no ticket: the folder for them was made again since this server started")]
    MadeAgain,
    /// The ticket is another agent's.
    #[error("the ticket is for another agent than the one that --agent names")]
    OtherAgent,
}

impl Tickets {
    /// The folder of tickets in the data folder at this absolute path. This looks at no file:
    /// [`Self::could_be_made`] and [`Self::data_folder`] do.
    pub fn in_folder(data: PathBuf) -> Result<Self, TicketError> {
        if data.is_absolute() {
            Ok(Self {
                data_path: data,
                client: None,
            })
        } else {
            Err(TicketError::Relative)
        }
    }

    /// The same folder, for the calls of the client with this process number. A call's id may
    /// repeat in another client's session, because a gateway chooses the ids. With None, which is
    /// for a guard that is not told the number, the tickets are for the server of any client.
    #[must_use]
    pub fn of_client(self, process: Option<u32>) -> Self {
        Self {
            client: process,
            ..self
        }
    }

    /// Checks that tickets could be left and redeemed here: where the data folder is, or would be
    /// made, the user may write, and nobody else may.
    ///
    /// # Errors
    /// Why not. If the system denies it because the folder, or one above it, belongs to another
    /// user, [`TicketError::Foreign`] says to whom.
    pub fn could_be_made(&self) -> Result<(), TicketError> {
        match self.try_making() {
            Err(why @ TicketError::System(SystemError::Denied)) => {
                Err(error_if_foreign(&self.data_path).unwrap_or(why))
            }
            tried => tried,
        }
    }

    /// The checks of [`Self::could_be_made`], which itself only says more about a denial:
    ///
    /// - If the data folder and the folder of tickets are there, they must be usable
    ///   ([`Self::open_folder`]).
    /// - If one is missing, the lowest folder that is there decides, on the way to the data folder:
    ///   nobody else may change it, and the user must be able to write in it. A file in place of a
    ///   folder is an error.
    #[expect(clippy::disallowed_methods, reason = "it only says what is wrong")]
    fn try_making(&self) -> Result<(), TicketError> {
        match self.open_folder() {
            Err(TicketError::System(SystemError::Missing)) => {}
            opened => return opened.map(drop),
        }
        // From the data folder upwards: what is missing would be made in the first that is there.
        for place in self.data_path.ancestors() {
            match Self::walk_to(place) {
                Ok(_) => {
                    access(place, Access::WRITE_OK).map_err(SystemError::from)?;
                    return Ok(());
                }
                // Something is there, but no folder.
                Err(TicketError::System(SystemError::Missing)) if is_there(place) => {
                    return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
                }
                Err(TicketError::System(SystemError::Missing)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes the data folder, and those above it that are missing, for the user alone; and in it
    /// the folder of tickets. Makes nothing if both are there already.
    ///
    /// # Errors
    /// What [`Self::could_be_made`] says, or why a folder cannot be made.
    #[expect(clippy::disallowed_methods, reason = "the folder that the user names")]
    pub fn make(&self) -> Result<(), TicketError> {
        // This opens the data folder, and makes the folder of tickets in it.
        if self.data_folder().is_ok() {
            return Ok(());
        }
        self.could_be_made()?;
        let mut private = DirBuilder::new();
        private
            .recursive(true)
            .mode(0o700)
            .create(&self.data_path)?;
        self.data_folder().map(drop)
    }

    /// Opens the data folder, and makes the folder of tickets in it if that is missing. A server
    /// that restricts itself may later read and delete only beneath this open folder.
    pub fn data_folder(&self) -> Result<File, TicketError> {
        let data = self.open_data()?;
        folder::open_or_make(&data)?;
        Ok(data)
    }

    /// Writes two files for the call with this `id`: a ticket, by which the server knows that a
    /// hook has allowed the call; and a receipt, by which the hook after the call knows that our
    /// server answered it. Writes both or neither. Before that, removes old files.
    ///
    /// # Errors
    /// [`TicketError::Again`] if the call has a ticket or receipt already; or why the folder cannot
    /// be used.
    pub fn leave(&self, id: &str, ticket: &Ticket) -> Result<(), TicketError> {
        let folder = folder::open_or_make(&self.open_data()?)?;
        let now = SystemTime::now();
        self.sweep(&folder);
        let key = ticket.key.as_ref().map_or("", Key::expose);
        // Without the last newline, the text is not complete, and the ticket not valid.
        let text = format!("{}\n{key}\n", &*ticket.agent);
        let ticket_name = ticket_file(id, self.client);
        write(&folder, &ticket_name, &text, now)?;
        // The receipt comes last. If this process ends before that, the server can serve the call,
        // but its answer is not believed.
        let receipt_left = write(&folder, &receipt_file(id, self.client), "", now);
        if receipt_left.is_err() {
            folder::remove(&folder, &ticket_name);
        }
        receipt_left
    }

    /// The ticket for the call with this `id`, which is then used up: only one of several callers
    /// gets it.
    ///
    /// # Errors
    /// [`Unverified::Missing`] if there is none: the guard left none, or a call has used it up.
    /// [`Unverified::Void`] if the ticket is older than a minute, is not private to the user, or is
    /// not as [`Self::leave`] writes it. [`Unverified::MadeAgain`] if the data folder was made
    /// again, so that this process may not open the ticket. [`Unverified::Folder`] if the folder
    /// cannot be used, or if there are too few descriptors.
    pub fn redeem(&self, id: &str) -> Result<Ticket, Unverified> {
        let folder = self.open_folder()?;
        let mut taken = folder::take(&folder, &ticket_file(id, self.client));
        if matches!(taken, Err(SystemError::Missing)) {
            // A guard that is not told the client's process leaves the ticket under a name without
            // the process.
            taken = folder::take(&folder, &ticket_file(id, None));
        }
        match taken {
            Ok(ticket) => Self::read(&ticket).ok_or(Unverified::Void),
            Err(SystemError::Missing) => Err(Unverified::Missing),
            Err(SystemError::Denied) => Err(Unverified::MadeAgain),
            Err(error @ SystemError::OutOfResources) => Err(TicketError::from(error).into()),
            Err(_) => Err(Unverified::Void),
        }
    }

    /// What the file of a ticket says. Its text is an agent's name, a newline, a key or nothing,
    /// and a newline: `scanner\nk1\n`, or `scanner\n\n` without a key. None if the file is older
    /// than a minute, is not private to the user, or has another form, as without its last newline.
    fn read(ticket: &File) -> Option<Ticket> {
        if !is_younger(ticket, TICKET_LIFE) {
            return None;
        }
        // Two newlines, and one byte more: of a text that is too long, the last newline is not
        // read, or the name or the key is refused.
        let most = AgentName::MAX_BYTES + Key::MAX_LEN + 3;
        let mut text = String::new();
        ticket.take(most as u64).read_to_string(&mut text).ok()?;
        let (agent, written_key) = text.strip_suffix('\n')?.split_once('\n')?;
        let key = match written_key {
            "" => None,
            written => Some(Key::try_from(written).ok()?),
        };
        Some(Ticket {
            agent: agent.try_into().ok()?,
            key,
        })
    }

    /// Whether our server has redeemed the ticket for the call with this `id`: the guard left a
    /// receipt within the last 90 seconds, and the ticket is gone. False if the
    /// ticket is still there, there is no such receipt, or the folder cannot be used. This uses up
    /// the receipt, and the ticket if it is there.
    #[must_use]
    pub fn was_redeemed(&self, id: &str) -> bool {
        let Ok(folder) = self.open_folder() else {
            return false;
        };
        let receipt = folder::take(&folder, &receipt_file(id, self.client));
        let ticket = folder::take(&folder, &ticket_file(id, self.client));
        // Any other error does not say that a server took the ticket.
        let is_gone = matches!(ticket, Err(SystemError::Missing));
        is_gone && receipt.is_ok_and(|file| is_younger(&file, RECEIPT_LIFE))
    }

    /// Removes tickets and receipts that are older than two minutes: neither is valid then. A file
    /// whose name has not the 64 characters of theirs stays. What cannot be removed now is tried
    /// again the next time. At most 256 files are looked at ([`MAX_SWEPT`]).
    ///
    /// The names are listed by the folder's path, but removed only in the open `folder`.
    #[expect(clippy::disallowed_methods, reason = "the folder was just judged")]
    fn sweep(&self, folder: &File) {
        let Ok(entries) = fs::read_dir(self.data_path.join(TICKETS_FOLDER)) else {
            return;
        };
        for entry in entries.flatten().take(MAX_SWEPT) {
            if let Ok(name) = entry.file_name().into_string()
                && name.len() == FILE_NAME_CHARS
                && let Ok(metadata) = entry.metadata()
                && age(&metadata).is_some_and(|age| age > 2 * TICKET_LIFE)
            {
                folder::remove(folder, &name);
            }
        }
    }

    /// The folder of tickets, open. An error if it is missing, or is not the user's alone.
    fn open_folder(&self) -> Result<File, TicketError> {
        let data = self.open_data()?;
        folder::open(&data)
    }

    /// The data folder, open. [`TicketError::NotTrusted`] if others could have put it there, or may
    /// write in it.
    fn open_data(&self) -> Result<File, TicketError> {
        let data = Self::walk_to(&self.data_path)?;
        // The plugin's launcher writes files there, under names that others could have made before.
        if data.stat.others_may_write() {
            return Err(TicketError::NotTrusted);
        }
        Ok(data.handle.into())
    }

    /// The folder at this path, open. [`TicketError::NotTrusted`] if others could change what the
    /// path leads to; else why the folder cannot be opened.
    fn walk_to(folder: &Path) -> Result<Walked<Handle>, TicketError> {
        let walked = Walker::new(System).walk(folder, Policy::Directory);
        walked.map_err(|error| match error {
            WalkError::Untrusted(_) => TicketError::NotTrusted,
            WalkError::System(error) => error.into(),
        })
    }
}

/// [`TicketError::Foreign`] if the folder belongs to another user: `data`, or if that cannot be
/// looked at, the lowest folder above it that can. None if it is this user's.
#[expect(clippy::disallowed_methods, reason = "it only says what is wrong")]
fn error_if_foreign(data: &Path) -> Option<TicketError> {
    let found = data.ancestors().find_map(|place| place.metadata().ok())?;
    if found.uid() == geteuid().as_raw() {
        return None;
    }
    Some(TicketError::Foreign(found.uid()))
}

/// Writes a new file with this text in the folder, as one that was written at `now`. If that fails,
/// there is no file. [`TicketError::Again`] if there was one of this name before: that one stays.
fn write(folder: &File, name: &str, text: &str, now: SystemTime) -> Result<(), TicketError> {
    let mut file = folder::make(folder, name)?;
    // A network file system would give the file the time of another clock.
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_modified(now));
    if written.is_err() {
        folder::remove(folder, name);
    }
    Ok(written?)
}

/// Whether anything stands at this path, of whatever kind.
fn is_there(place: &Path) -> bool {
    Walker::new(System).walk(place, Policy::Name).is_ok()
}

/// Whether this is a file that is private to its user, and was written within the last `life`.
/// False for one whose time is in the future.
fn is_younger(file: &File, life: Duration) -> bool {
    let Ok(found) = file.metadata() else {
        return false;
    };
    let is_private = found.is_file() && folder::is_private(&found);
    is_private && age(&found).is_some_and(|age| age <= life)
}

/// How long ago a file was last written. None if its time is unknown, or in the future.
fn age(file: &Metadata) -> Option<Duration> {
    file.modified().ok()?.elapsed().ok()
}

/// The name of the receipt's file for the call with this `id`. `client` is as for [`ticket_file`].
fn receipt_file(id: &str, client: Option<u32>) -> String {
    ticket_file(&format!("{id}\0receipt"), client)
}

/// How many characters [`ticket_file`] returns: the hexadecimal digits of a SHA-256.
const FILE_NAME_CHARS: usize = 64;

/// The name of the ticket's file for the call with this `id`: a hash, because the id comes from
/// outside, and could be any path. `client` is the client's process. With None, the name is the
/// same for all clients.
fn ticket_file(id: &str, client: Option<u32>) -> String {
    let call = match client {
        Some(process) => format!("{id}\0{process}"),
        None => id.to_owned(),
    };
    format!("{:x}", Sha256::digest(call))
}

#[cfg(test)]
mod tests;
