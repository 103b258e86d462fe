//! Whether a group is the user under another name.
//!
//! Many systems give each user a group of the same name, and let the group write in the user's home
//! (`umask 002`). Such a group mostly has no other member. Like Debian's OpenSSH, we check who is
//! in it: a separate walk reads `/etc/passwd` and `/etc/group`, once in a process. These files do
//! not list members that only a network directory knows, or `/etc/gshadow`, which no user may read.
//! A group that is not in these files is never the user's own.
//!
//! macOS keeps its users elsewhere (Open Directory): there, these files are for single-user mode,
//! and name only root in groups that have other members. So no group counts.

use crate::{
    error::{SystemError, WalkError},
    members::{Contents, GROUPS, GroupFiles, USERS},
    system::FileSystem,
    trust::{DistrustReason, ROOT},
    walker::{Policy, Walker},
};
use std::path::Path;

/// The most that is read of either file, in bytes: some ten thousand users.
const MAX_FILE_BYTES: u64 = 1 << 20;

impl<F: FileSystem> Walker<F> {
    /// The bytes of `/etc/passwd` and `/etc/group`; or in their place, the path of the one that
    /// could not be read. The first call reads both files, and keeps this answer for all walks of
    /// the process. Each later call returns the same.
    ///
    /// # Errors
    /// A lack of time or resources. Then nothing is kept, and the next call reads the files again.
    pub(crate) fn groups(&self) -> Result<&GroupFiles, WalkError> {
        let kept = self.files.groups();
        if let Some(files) = kept.get() {
            return Ok(files);
        }
        let users = self.read_group_file(USERS)?;
        let groups = self.read_group_file(GROUPS)?;
        let files = match (users, groups) {
            (None, _) => Err(USERS),
            (_, None) => Err(GROUPS),
            (Some(users), Some(groups)) => Ok(Contents { users, groups }),
        };
        Ok(kept.get_or_init(|| GroupFiles(files)))
    }

    /// All bytes of one of the two files. None if the file cannot be read, is not trusted, or has
    /// more than 1 MiB ([`MAX_FILE_BYTES`]).
    ///
    /// # Errors
    /// A lack of time or resources.
    fn read_group_file(&self, path: &str) -> Result<Option<Vec<u8>>, WalkError> {
        let walked = self.walk(Path::new(path), Policy::GroupFile);
        match walked.and_then(|file| self.read(&file.handle, file.stat.size, MAX_FILE_BYTES)) {
            Err(error @ WalkError::System(SystemError::OutOfResources | SystemError::Late)) => {
                Err(error)
            }
            Err(_) => Ok(None),
            Ok(content) => Ok(content),
        }
    }

    /// Why somebody else than `user` and root may be in the group with this number. None if nobody
    /// else is.
    ///
    /// [`DistrustReason::WritableByGroup`] if somebody else is in the group, and without a look at
    /// any file on macOS, and for the overflow group, which stands for all groups that have no
    /// number here. [`DistrustReason::UnknownGroup`] if `/etc/passwd` or `/etc/group` cannot be
    /// read or understood; the reason names that file.
    ///
    /// # Errors
    /// A lack of time or resources.
    pub fn others_in(&self, group: u32, user: u32) -> Result<Option<DistrustReason>, WalkError> {
        if cfg!(not(target_os = "linux")) || !self.files.is_known(group) {
            return Ok(Some(DistrustReason::WritableByGroup));
        }
        // An error is the path of the file that does not tell.
        let alone = match &self.groups()?.0 {
            Ok(files) => files.holds_alone(group, user),
            Err(file) => Err(*file),
        };
        Ok(match alone {
            Ok(true) => None,
            Ok(false) => Some(DistrustReason::WritableByGroup),
            Err(file) => Some(DistrustReason::UnknownGroup(file)),
        })
    }
}

/// The groups that have one of these `rights` (execute: 1, write: 2, read: 4) by an access list of
/// an object that belongs to the group `own_group`. `list` is the list's bytes, as Linux keeps them
/// (`linux/posix_acl_xattr.h`): a version, then entries of eight bytes. With the entries
/// `group::rw- group:7:rw- group:8:r--` and the right to write, the groups are `own_group` and 7.
///
/// None if an entry for a named user gives one of the `rights`, and that user is neither root nor
/// `user`. None also if the list is not understood: its version is not 2, or it has an entry of
/// fewer than eight bytes, or an entry of an unknown kind.
pub fn groups_in(list: &[u8], rights: u16, own_group: u32, user: Option<u32>) -> Option<Vec<u32>> {
    /// The kinds of entries for the owner, the mask and all others. The mode has their rights, so
    /// they are passed by.
    const OF_THE_MODE: [u16; 3] = [0x01, 0x10, 0x20];
    const USER: u16 = 0x02;
    const OWN_GROUP: u16 = 0x04;
    const GROUP: u16 = 0x08;
    const VERSION: u32 = 2;
    let (version, after_version) = list.split_first_chunk()?;
    let (entries, rest) = after_version.as_chunks::<8>();
    if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
        return None;
    }
    let mut groups = Vec::new();
    for [tag_low, tag_high, granted_low, granted_high, id_bytes @ ..] in entries {
        let tag = u16::from_le_bytes([*tag_low, *tag_high]);
        let granted = u16::from_le_bytes([*granted_low, *granted_high]);
        let id = u32::from_le_bytes(*id_bytes);
        match tag {
            // The entry gives none of the rights.
            USER | OWN_GROUP | GROUP if rights & granted == 0 => {}
            USER if id == ROOT || Some(id) == user => {}
            OWN_GROUP => groups.push(own_group),
            GROUP => groups.push(id),
            tag if OF_THE_MODE.contains(&tag) => {}
            _ => return None,
        }
    }
    Some(groups)
}
