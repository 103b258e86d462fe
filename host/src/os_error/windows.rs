//! Windows.

use super::OsErrorKind;
use std::io;
use windows_sys::Win32::Foundation as code;

impl OsErrorKind {
    /// The kind of `error`. None means that it is not the operating system's.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        if is_exhaustion(error) {
            return Some(Self::OutOfResources);
        }
        Some(match error.raw_os_error()?.cast_unsigned() {
            code::ERROR_FILE_NOT_FOUND
            | code::ERROR_PATH_NOT_FOUND
            | code::ERROR_INVALID_DRIVE
            | code::ERROR_NOT_READY
            | code::ERROR_BAD_NETPATH
            | code::ERROR_BAD_NET_NAME
            | code::ERROR_INVALID_NAME
            | code::ERROR_BAD_PATHNAME
            | code::ERROR_FILENAME_EXCED_RANGE
            | code::ERROR_DIRECTORY => Self::Missing,
            code::ERROR_ACCESS_DENIED | code::ERROR_PRIVILEGE_NOT_HELD => Self::Denied,
            code::ERROR_STOPPED_ON_SYMLINK | code::ERROR_REPARSE_POINT_ENCOUNTERED => Self::Link,
            code::ERROR_SHARING_VIOLATION
            | code::ERROR_LOCK_VIOLATION
            | code::ERROR_USER_MAPPED_FILE => Self::Busy,
            code::ERROR_BAD_FILE_TYPE => Self::NotAFile,
            _ => Self::Other,
        })
    }
}

/// Whether the operating system reports that there are too few handles, or too little
/// memory.
pub(crate) fn is_exhaustion(error: &io::Error) -> bool {
    let error = error.raw_os_error().map(i32::cast_unsigned);
    matches!(
        error,
        Some(
            code::ERROR_TOO_MANY_OPEN_FILES
                | code::ERROR_NOT_ENOUGH_MEMORY
                | code::ERROR_OUTOFMEMORY
                | code::ERROR_NO_SYSTEM_RESOURCES
                | code::ERROR_COMMITMENT_LIMIT
                | code::ERROR_NOT_ENOUGH_QUOTA
        )
    )
}
