//! One-time tickets, on Windows: what `ticket.rs` is elsewhere.
//!
//! The folder and each ticket are created with an access list that names only the user.
//! A ticket is redeemed by opening it exclusively, to be deleted when it is closed: if
//! several callers ask, one gets it.

use crate::{
    contract::hex,
    walk::{
        Fault, Kind, Policy, System, WalkError, Walker, into_file,
        windows::{How, api, kind, open_in, security, time, user},
    },
};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use windows_sys::{
    Wdk::Storage::FileSystem::{
        FILE_CREATE, FILE_DELETE_ON_CLOSE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
    },
    Win32::{
        Foundation::ERROR_ALREADY_EXISTS,
        Storage::FileSystem::{
            DELETE, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_READ_DATA, FILE_SHARE_DELETE,
            FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA,
            FileFullDirectoryRestartInfo, READ_CONTROL,
        },
    },
};

/// The folder of tickets, in the plugin's data folder.
const FOLDER: &str = "tickets";

/// How long a ticket is valid. Between guard and call, the client only runs other
/// hooks, which takes seconds at most.
pub const LIFE: Duration = Duration::from_secs(60);

/// The longest name of an agent in a ticket, in bytes. In a map, a name has at most
/// 128.
pub const MAX_AGENT_BYTES: usize = 512;

/// How much of the folder one clean-up reads, in units of 8 bytes: some 200 tickets.
const MOST_SWEPT: usize = 5 << 10;

const SHARE: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

const FOLDER_RIGHTS: How<'static> = How {
    access: FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: SHARE,
    disposition: FILE_OPEN,
    options: 0,
    descriptor: None,
};

/// The folder of tickets.
#[derive(Debug)]
pub struct Tickets {
    /// The plugin's data folder.
    data: PathBuf,
}

/// Why a ticket could not be written. The message names no path, because a client may
/// show it to a model.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The agent's name is empty, too long, or holds a control character.
    #[error("the agent's name cannot be used")]
    BadAgent,
    /// The folder of tickets is a link, is another user's, or is open to others.
    #[error(
        "the folder `tickets` in the plugin's data folder is not private to its user; remove it"
    )]
    NotPrivate,
    /// Others could change the plugin's data folder, or put another in its place.
    #[error("others can write to the plugin's data folder or to a directory above it")]
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

impl From<Fault> for TicketError {
    fn from(fault: Fault) -> Self {
        Self::Io(match fault {
            Fault::Missing => io::ErrorKind::NotFound,
            Fault::Denied => io::ErrorKind::PermissionDenied,
            Fault::Failed(kind) => kind,
            _ => io::ErrorKind::Other,
        })
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

    /// Opens the folder, and creates it if it is missing.
    ///
    /// # Errors
    /// [`TicketError`].
    pub(crate) fn held(&self) -> Result<File, TicketError> {
        let data = self.data()?;
        let how = How {
            disposition: FILE_CREATE,
            options: FILE_DIRECTORY_FILE,
            descriptor: Some(&security::private_to(user())),
            ..FOLDER_RIGHTS
        };
        match api::open(Some(&data), FOLDER, how) {
            Ok(_) => {}
            Err(error) if is_there(&error) => {}
            Err(error) => return Err(error.into()),
        }
        folder_in(&data)
    }

    /// Writes a ticket: `agent` makes the call with this `id`. It first cleans up old
    /// tickets.
    ///
    /// # Errors
    /// [`TicketError`]. Then there is no new ticket.
    pub fn leave(&self, id: &str, agent: &str) -> Result<(), TicketError> {
        if !is_agent(agent) {
            return Err(TicketError::BadAgent);
        }
        let folder = self.held()?;
        let now = SystemTime::now();
        sweep(&folder, now);
        let name = name(id);
        let how = How {
            access: FILE_WRITE_DATA | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
            // Nobody reads it before it is complete.
            share: 0,
            disposition: FILE_CREATE,
            options: FILE_NON_DIRECTORY_FILE,
            descriptor: Some(&security::private_to(user())),
        };
        let mut ticket = match api::open(Some(&folder), &name, how) {
            Ok(ticket) => ticket,
            Err(error) if is_there(&error) => return Err(TicketError::Again),
            Err(error) => return Err(error.into()),
        };
        // The newline says that the name is complete. We set the time from our own
        // clock, because a network file system gives files the time of another clock.
        let written = ticket
            .write_all(format!("{agent}\n").as_bytes())
            .and_then(|()| ticket.set_modified(now));
        written.map_err(|error| {
            drop(ticket);
            drop(take(&folder, &name));
            error.into()
        })
    }

    /// The agent that makes the call with this `id`, if there is a valid ticket for it.
    /// Valid or not, the ticket is used up: if several callers ask, one gets it.
    #[must_use]
    pub fn redeem(&self, id: &str) -> Option<Box<str>> {
        let folder = folder_in(&self.data().ok()?).ok()?;
        let ticket = take(&folder, &name(id)).ok()?;
        let modified = ticket.metadata().ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(modified);
        let is_file = kind(&ticket).ok()? == Kind::File;
        if !is_file || !is_private(&ticket) || age.ok()? > LIFE {
            return None;
        }
        let mut text = String::new();
        (&ticket)
            .take(MAX_AGENT_BYTES as u64 + 2)
            .read_to_string(&mut text)
            .ok()?;
        text.strip_suffix('\n')
            .filter(|agent| is_agent(agent))
            .map(Into::into)
    }

    /// The plugin's data folder, if nobody else could have put it there or written in
    /// it. Then its content stays where it is.
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

/// Opens the folder of tickets in the data folder, if it is this user's own.
fn folder_in(data: &File) -> Result<File, TicketError> {
    let folder = open_in(data, FOLDER, FOLDER_RIGHTS)?;
    match kind(&folder)? == Kind::Directory && is_private(&folder) {
        true => Ok(folder),
        false => Err(TicketError::NotPrivate),
    }
}

/// Opens a ticket exclusively, to be deleted when it is closed.
fn take(folder: &File, name: &str) -> Result<File, Fault> {
    let how = How {
        access: FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL | DELETE,
        share: 0,
        disposition: FILE_OPEN,
        options: FILE_NON_DIRECTORY_FILE | FILE_DELETE_ON_CLOSE,
        descriptor: None,
    };
    open_in(folder, name, how)
}

/// The file name for an id. It is a hash, because an id comes from outside and this is
/// part of a path. Its length and alphabet are the same for every id.
fn name(id: &str) -> String {
    hex(&Sha256::digest(id))
}

fn is_agent(agent: &str) -> bool {
    (1..=MAX_AGENT_BYTES).contains(&agent.len()) && !agent.contains(char::is_control)
}

fn is_private(file: &File) -> bool {
    api::descriptor(file).is_ok_and(|descriptor| security::is_private(&descriptor, user()))
}

fn is_there(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
        || error.raw_os_error() == Some(ERROR_ALREADY_EXISTS.cast_signed())
}

/// Removes tickets that nobody can redeem any more. If a removal fails, the next
/// clean-up tries again.
fn sweep(folder: &File, now: SystemTime) {
    let mut found = vec![0; MOST_SWEPT];
    if api::information(folder, FileFullDirectoryRestartInfo, &mut found).is_err() {
        return;
    }
    for (name, modified) in entries(&api::bytes(&found)) {
        let is_old = now.duration_since(modified).is_ok_and(|age| age > 2 * LIFE);
        if is_old && name.len() == 64 {
            drop(take(folder, &name));
        }
    }
}

/// The names in a directory and the times of their last writes, in Windows' layout:
/// `FILE_FULL_DIR_INFO`.
fn entries(mut found: &[u8]) -> Vec<(String, SystemTime)> {
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let entry = |bytes: &[u8]| {
        let modified = i64::from_le_bytes(bytes.get(24..32)?.try_into().ok()?);
        let length = number(bytes, 60)? as usize;
        let name: Vec<u16> = bytes
            .get(68..68 + length)?
            .chunks_exact(2)
            .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
            .collect();
        let seconds = u64::try_from(time(modified).0).ok()?;
        let modified = UNIX_EPOCH + Duration::from_secs(seconds);
        Some((String::from_utf16(&name).ok()?, modified))
    };
    let mut all = Vec::new();
    loop {
        all.extend(entry(found));
        match number(found, 0) {
            Some(next @ 1..) => found = found.get(next as usize..).unwrap_or_default(),
            _ => return all,
        }
    }
}
