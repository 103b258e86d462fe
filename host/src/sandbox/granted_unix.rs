//! The granted file on Linux and macOS.

use super::{ChangeTime, Look, Patience};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::{
    buffer::spare_capacity,
    fs::OFlags,
    io::{Errno, pread},
};
use std::io;

/// The error for a file that does not come to rest.
pub(super) fn unsettled() -> io::Error {
    Errno::WOULDBLOCK.into()
}

/// The error for everything that is not a regular file.
pub(super) fn not_a_file() -> io::Error {
    Errno::NXIO.into()
}

/// The error for a text that is no name.
pub(super) fn a_way_out() -> io::Error {
    Errno::LOOP.into()
}

/// Whether a name means something else than itself.
pub(super) fn is_odd(_: &str) -> bool {
    false
}

pub(super) fn look(_: &File, metadata: &Metadata) -> io::Result<Look> {
    Ok(Look {
        size: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: ChangeTime {
            seconds: metadata.ctime(),
            nanoseconds: metadata.ctime_nsec(),
        },
    })
}

/// Reads as much as `bytes`, which are empty, have room for. They are not filled with
/// zeros first: of a large file, that would cost a third of what reading it costs.
pub(super) fn read_at(file: &File, bytes: &mut Vec<u8>, offset: u64) -> io::Result<()> {
    pread(file, spare_capacity(bytes), offset)?;
    Ok(())
}

/// Opens without following a link, and without waiting for the writer of a FIFO, the
/// carrier of a device, or the holder of a lease.
pub(super) fn open(directory: &Dir, name: &str, _: &mut Patience) -> io::Result<File> {
    let open = |more: OFlags| {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
        let mut options = OpenOptions::new();
        options
            .read(true)
            .follow(FollowSymlinks::No)
            .custom_flags(flags.bits().cast_signed());
        directory.open_with(name, &options)
    };
    // Reading then does not change the access time. Only a file's owner may ask for
    // this.
    #[cfg(target_os = "linux")]
    match open(OFlags::NOATIME) {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {}
        opened => return opened,
    }
    open(OFlags::empty())
}

/// Waits for a write that is in progress. The kernel sets a file's times when a write
/// begins, so they do not tell when it ends; but on ext4, btrfs and tmpfs a search for
/// data takes the lock that a write holds. (XFS takes that lock to read.) cap-std has
/// no such call. Its result does not matter. macOS has the same call; we do not know
/// what APFS locks for it.
///
/// Anyone who may write the file can keep that lock for as long as they like, so this
/// may hang. It is called only for files that were changed in the last seconds.
pub(super) fn let_writers_finish(file: &File) {
    let _ = rustix::fs::seek(file, rustix::fs::SeekFrom::Data(0));
}
