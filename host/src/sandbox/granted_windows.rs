//! The granted file on Windows.

use super::{ChangeTime, Look, Patience, QUIET};
use crate::walk::windows::{api, names, time};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{
    Dir, File, FileExt as _, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _,
};
use std::io;
use windows_sys::Win32::{
    Foundation::{
        ERROR_BAD_FILE_TYPE, ERROR_HANDLE_EOF, ERROR_SHARING_VIOLATION, ERROR_STOPPED_ON_SYMLINK,
        WIN32_ERROR,
    },
    Storage::FileSystem::{
        FILE_ATTRIBUTE_REPARSE_POINT, FILE_SHARE_DELETE, FILE_SHARE_READ, FileBasicInfo,
    },
};

fn error(code: WIN32_ERROR) -> io::Error {
    io::Error::from_raw_os_error(code.cast_signed())
}

/// The error for a file that does not come to rest.
pub(super) fn unsettled() -> io::Error {
    error(ERROR_SHARING_VIOLATION)
}

/// The error for everything that is not a regular file.
pub(super) fn not_a_file() -> io::Error {
    error(ERROR_BAD_FILE_TYPE)
}

/// The error for a text that is no name.
pub(super) fn a_way_out() -> io::Error {
    error(ERROR_STOPPED_ON_SYMLINK)
}

/// Whether a name means something else than itself: see the walk, which found it.
pub(super) fn is_odd(name: &str) -> bool {
    !names::is_plain(name)
}

/// A reparse point that is not a link is not the file's own content.
pub(super) fn look(file: &File, metadata: &Metadata) -> io::Result<Look> {
    if metadata.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        return Err(not_a_file());
    }
    // Created, accessed, written, changed, attributes.
    let mut basic = [0; 5];
    api::information(file, FileBasicInfo, &mut basic)?;
    let (seconds, nanoseconds) = time(basic[3].cast_signed());
    Ok(Look {
        size: metadata.len(),
        modified: time(basic[2].cast_signed()),
        changed: ChangeTime {
            seconds,
            nanoseconds,
        },
    })
}

/// Reads as much as `bytes`, which are empty, have room for.
pub(super) fn read_at(file: &File, bytes: &mut Vec<u8>, offset: u64) -> io::Result<()> {
    bytes.resize(bytes.capacity(), 0);
    let got = match file.seek_read(bytes, offset) {
        Err(found) if found.raw_os_error() == error(ERROR_HANDLE_EOF).raw_os_error() => 0,
        read => read?,
    };
    bytes.truncate(got);
    Ok(())
}

/// Opens without following a link, and such that nobody can write to the file at the
/// same time: Windows records the time of a write when the file is closed. If somebody
/// has it open for writing, this waits.
pub(super) fn open(directory: &Dir, name: &str, patience: &mut Patience) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
    loop {
        match directory.open_with(name, &options) {
            Err(found) if found.raw_os_error() == unsettled().raw_os_error() => {
                patience.wait(QUIET)?;
            }
            opened => return opened,
        }
    }
}

/// There are no such writers: see [`open`].
pub(super) fn let_writers_finish(_: &File) {}
