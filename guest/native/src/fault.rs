//! The file system's refusals, as the component sees them.

use keyhole_guest::Fault;
use rustix::io::Errno;
use std::io;

/// The component's fault for the same refusal: first the sandbox names it
/// (`host/src/sandbox/files.rs`), then the guest reads that name
/// (`guest/src/component.rs`).
pub(crate) fn fault(error: io::Error) -> Fault {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Fault::Missing,
        Some(Errno::ACCESS | Errno::PERM) => Fault::Denied,
        Some(Errno::LOOP) => Fault::Escapes,
        Some(Errno::WOULDBLOCK) => Fault::Unsettled,
        Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => Fault::NotAFile,
        Some(_) => Fault::Other,
        // Not from the operating system: cap-std itself refuses a path that leads out.
        None if error.kind() == io::ErrorKind::PermissionDenied => Fault::Escapes,
        None => Fault::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
