//! How the host opens and reads a file that decides what is served: the map, or a
//! binding's key file.

use crate::walk::{FileSystem, Policy, Stat, Trail, WalkError, Walker};
use std::path::Path;
use zeroize::Zeroizing;

/// The open file, what it reported when it was judged, and the way to it.
pub(super) type Opened<H> = (H, Stat, Option<Trail<H>>);

/// Opens the file at `path` if nobody but the user and root could have written it.
///
/// # Errors
/// [`WalkError`].
pub(super) fn open<F: FileSystem>(
    walker: &Walker<F>,
    path: &Path,
) -> Result<Opened<F::Handle>, WalkError> {
    Ok(walker.walk(path, Policy::TRUSTED_FILE)?.into_trail())
}

/// Reads all of an open file if it has at most `most` bytes. None means that it has
/// more. The bytes may hold keys, so they are overwritten when they are dropped.
///
/// This does not ask whether somebody is just writing the file. [`super::LiveMap`]
/// does, because half a map could be valid. Half a key is a wrong key.
///
/// # Errors
/// [`WalkError`].
pub(super) fn read<F: FileSystem>(
    walker: &Walker<F>,
    file: &F::Handle,
    stat: &Stat,
    most: u64,
) -> Result<Option<Zeroizing<Vec<u8>>>, WalkError> {
    Ok(walker.read(file, stat, most)?.map(Zeroizing::new))
}
