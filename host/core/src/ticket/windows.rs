//! The folder of tickets on Windows.
//!
//! The folder and each ticket are created with an access list that names only the user.
//! A ticket is redeemed by opening it exclusively, to be deleted when it is closed: if
//! several callers ask, one gets it.

use super::{FOLDER, TicketError};
use keyhole_walk::{
    Kind, SystemError,
    windows::{How, api, kind, open_in, security, user},
};
use std::{fs::File, io, path::Path};
use windows_sys::{
    Wdk::Storage::FileSystem::{
        FILE_CREATE, FILE_DELETE_ON_CLOSE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
    },
    Win32::{
        Foundation::ERROR_ALREADY_EXISTS,
        Storage::FileSystem::{
            DELETE, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_READ_DATA, FILE_SHARE_DELETE,
            FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA,
            READ_CONTROL,
        },
    },
};

/// What to do if others could change the data folder.
pub(super) const NOT_TRUSTED: &str =
    "others can write to the folder that Keyhole keeps tickets in, or to a directory above it";

const SHARE: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

const FOLDER_RIGHTS: How<'static> = How {
    access: FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: SHARE,
    disposition: FILE_OPEN,
    options: 0,
    descriptor: None,
};

/// Creates the data folder, and those above it that are missing.
#[expect(clippy::disallowed_methods, reason = "the folder that the user names")]
pub(super) fn make_data_folder(data: &Path) -> io::Result<()> {
    std::fs::create_dir_all(data)
}

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
///
/// # Errors
/// [`SystemError::Missing`] if there is none.
pub(super) fn take(folder: &File, name: &str) -> Result<File, SystemError> {
    let how = How {
        access: FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL | DELETE,
        share: 0,
        disposition: FILE_OPEN,
        options: FILE_NON_DIRECTORY_FILE | FILE_DELETE_ON_CLOSE,
        descriptor: None,
    };
    open_in(folder, name, how)
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
