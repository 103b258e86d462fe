//! The file system's refusals, as the component sees them.

use keyhole_guest::Fault;
use std::io;

/// The component's fault for the same refusal: first the sandbox names it
/// (`host/src/sandbox/files.rs`), then the guest reads that name
/// (`guest/src/component.rs`).
pub(crate) fn fault(error: io::Error) -> Fault {
    match of_system(&error) {
        Some(fault) => fault,
        // Not from the operating system: cap-std itself refuses a path that leads out.
        None if error.kind() == io::ErrorKind::PermissionDenied => Fault::Escapes,
        None => Fault::Other,
    }
}

#[cfg(unix)]
fn of_system(error: &io::Error) -> Option<Fault> {
    use rustix::io::Errno;
    Some(match Errno::from_io_error(error)? {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Fault::Missing,
        Errno::ACCESS | Errno::PERM => Fault::Denied,
        Errno::LOOP => Fault::Escapes,
        Errno::WOULDBLOCK => Fault::Unsettled,
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Fault::NotAFile,
        _ => Fault::Other,
    })
}

/// Only the codes that the table of cases needs. The host knows more.
#[cfg(windows)]
fn of_system(error: &io::Error) -> Option<Fault> {
    use windows_sys::Win32::Foundation as code;
    Some(match error.raw_os_error()?.cast_unsigned() {
        code::ERROR_FILE_NOT_FOUND
        | code::ERROR_PATH_NOT_FOUND
        | code::ERROR_INVALID_NAME
        | code::ERROR_BAD_PATHNAME
        | code::ERROR_FILENAME_EXCED_RANGE
        | code::ERROR_DIRECTORY => Fault::Missing,
        code::ERROR_ACCESS_DENIED => Fault::Denied,
        code::ERROR_STOPPED_ON_SYMLINK | code::ERROR_REPARSE_POINT_ENCOUNTERED => Fault::Escapes,
        code::ERROR_SHARING_VIOLATION | code::ERROR_LOCK_VIOLATION => Fault::Unsettled,
        code::ERROR_BAD_FILE_TYPE => Fault::NotAFile,
        _ => Fault::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use rustix::io::Errno;

    #[cfg(unix)]
    #[test]
    fn each_refusal_is_what_the_component_makes_of_it() {
        for (errno, expected) in [
            (Errno::NOENT, Fault::Missing),
            (Errno::NOTDIR, Fault::Missing),
            (Errno::NAMETOOLONG, Fault::Missing),
            (Errno::ACCESS, Fault::Denied),
            (Errno::PERM, Fault::Denied),
            (Errno::LOOP, Fault::Escapes),
            (Errno::WOULDBLOCK, Fault::Unsettled),
            (Errno::NXIO, Fault::NotAFile),
            (Errno::NODEV, Fault::NotAFile),
            (Errno::OPNOTSUPP, Fault::NotAFile),
            (Errno::IO, Fault::Other),
            (Errno::INVAL, Fault::Other),
            (Errno::MFILE, Fault::Other),
        ] {
            assert_eq!(fault(errno.into()), expected, "{errno:?}");
        }
    }

    #[test]
    fn a_refusal_by_the_library_is_a_way_out() {
        let refusal = |kind| fault(io::Error::new(kind, "said by no operating system"));
        assert_eq!(refusal(io::ErrorKind::PermissionDenied), Fault::Escapes);
        assert_eq!(refusal(io::ErrorKind::Other), Fault::Other);
    }
}
