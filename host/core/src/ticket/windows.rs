//! The folder of tickets on Windows.
//!
//! The folder and each ticket are created with an access list that names only the user.
//! A ticket is redeemed by opening it exclusively, to be deleted when it is closed: if
//! several callers ask, one gets it.

use super::{FOLDER, LIFE, TicketError};
use keyhole_walk::{
    Kind,
    windows::{How, api, kind, open_in, security, time, user},
};
use std::{
    fs::File,
    io,
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

/// What to do if others could change the plugin's data folder.
pub(super) const NOT_TRUSTED: &str =
    "others can write to the plugin's data folder or to a directory above it";

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

/// Opens the folder in the data folder, and creates it if it is missing.
pub(super) fn make_folder(data: &File) -> Result<File, TicketError> {
    let how = How {
        disposition: FILE_CREATE,
        options: FILE_DIRECTORY_FILE,
        descriptor: Some(&security::private_to(user())),
        ..FOLDER_RIGHTS
    };
    match api::open(Some(data), FOLDER, how) {
        Err(error) if !is_there(&error) => Err(error.into()),
        _ => folder_in(data),
    }
}

/// Opens the folder in the data folder, if it is this user's own.
pub(super) fn folder_in(data: &File) -> Result<File, TicketError> {
    let folder = open_in(data, FOLDER, FOLDER_RIGHTS)?;
    match kind(&folder)? == Kind::Directory && is_private(&folder) {
        true => Ok(folder),
        false => Err(TicketError::NotPrivate),
    }
}

/// Creates a ticket, to be written. Nobody reads it before it is whole.
pub(super) fn make(folder: &File, name: &str) -> Result<File, TicketError> {
    let how = How {
        access: FILE_WRITE_DATA | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
        share: 0,
        disposition: FILE_CREATE,
        options: FILE_NON_DIRECTORY_FILE,
        descriptor: Some(&security::private_to(user())),
    };
    api::open(Some(folder), name, how).map_err(|error| match is_there(&error) {
        true => TicketError::Again,
        false => error.into(),
    })
}

/// Removes what could not be written.
pub(super) fn remove(folder: &File, name: &str) {
    drop(take(folder, name));
}

/// Opens a ticket so that nobody else can open it, and Windows deletes it when it is
/// closed.
pub(super) fn take(folder: &File, name: &str) -> Option<File> {
    let how = How {
        access: FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL | DELETE,
        share: 0,
        disposition: FILE_OPEN,
        options: FILE_NON_DIRECTORY_FILE | FILE_DELETE_ON_CLOSE,
        descriptor: None,
    };
    open_in(folder, name, how).ok()
}

/// Whether it is a file, and the user's alone.
pub(super) fn is_private_file(ticket: &File) -> bool {
    kind(ticket).is_ok_and(|kind| kind == Kind::File) && is_private(ticket)
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
pub(super) fn sweep(folder: &File, now: SystemTime) {
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
