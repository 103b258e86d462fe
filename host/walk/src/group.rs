//! Whether a group is the user under another name.
//!
//! Many systems give each user a group of the same name, and let the group write in the user's home
//! (`umask 002`). Such a group mostly has no other member. Like Debian's OpenSSH, we check who is in
//! it: a separate walk reads `/etc/passwd` and `/etc/group`, once in a process. These files do not
//! list members that only a network directory knows, or `/etc/gshadow`, which no user may read. A
//! group that is not in these files is never the user's own.
//!
//! Any user may have part of their line changed (`chfn`). So both files are read as bytes,
//! and only the lines that count: those of the group, and of the users who are in it.
//!
//! macOS keeps its users elsewhere (Open Directory): there, these files are for single-user mode,
//! and name only root in groups that have other members. So no group counts.

use crate::{
    FileSystem, Policy, SystemError, WalkError, Walker,
    trust::{DistrustReason, ROOT},
};
use std::path::Path;

/// The most that is read of either file, in bytes: some ten thousand users.
const MOST: u64 = 1 << 20;

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// The users and the groups, as the two files were at one moment; or which one could not be read.
#[derive(Debug)]
pub struct GroupFiles(Result<(Vec<u8>, Vec<u8>), &'static str>);

impl<F: FileSystem> Walker<F> {
    /// Both files, which are read the first time. What failed for lack of time or resources is
    /// not kept.
    pub(crate) fn groups(&self) -> Result<&GroupFiles, WalkError> {
        let groups = self.files.groups();
        if let Some(known) = groups.get() {
            return Ok(known);
        }
        let read = |path| -> Result<Result<Vec<u8>, &'static str>, WalkError> {
            let walked = self.walk(Path::new(path), Policy::GroupFile);
            match walked.and_then(|file| self.read(&file.handle, file.stat.size, MOST)) {
                Err(error @ WalkError::System(SystemError::OutOfResources | SystemError::Late)) => {
                    Err(error)
                }
                read => Ok(read.ok().flatten().ok_or(path)),
            }
        };
        let (users, listed) = (read(USERS)?, read(GROUPS)?);
        let read = users.and_then(|users| Ok((users, listed?)));
        Ok(groups.get_or_init(|| GroupFiles(read)))
    }

    /// Why the group, by its id, may be somebody else than `user` and root. None if it is not. It
    /// fails only for lack of time or resources.
    pub fn others_in(&self, group: u32, user: u32) -> Result<Option<DistrustReason>, WalkError> {
        if cfg!(not(target_os = "linux")) || !self.files.is_known(group) {
            return Ok(Some(DistrustReason::WritableByGroup));
        }
        let read = self.groups()?.0.as_ref().map_err(|file| *file);
        let alone = read.and_then(|(users, groups)| holds_alone(users, groups, group, user));
        Ok(match alone {
            Ok(true) => None,
            Ok(false) => Some(DistrustReason::WritableByGroup),
            Err(file) => Some(DistrustReason::UnknownGroup(file)),
        })
    }
}

/// Whether `user` is in the group, and nobody else except perhaps root. Root's own group need not
/// hold the user. An error names the file in which a line that counts cannot be understood.
fn holds_alone(users: &[u8], groups: &[u8], group: u32, user: u32) -> Result<bool, &'static str> {
    let mut own_names = Vec::new();
    let mut holds_user = false;
    for line in lines(users).ok_or(USERS)? {
        let [name, _, id, primary] = fields(line);
        let (id, primary) = (number(id).ok_or(USERS)?, number(primary).ok_or(USERS)?);
        let is_primary = primary == Some(group);
        match id {
            Some(id) if id == user || id == ROOT => {
                own_names.push((name, id));
                holds_user |= is_primary && id == user;
            }
            _ if is_primary => return Ok(false),
            _ => {}
        }
    }
    let mut is_known = false;
    for line in lines(groups).ok_or(GROUPS)? {
        let [_, password, id, members] = fields(line);
        if number(id).ok_or(GROUPS)? != Some(group) {
            continue;
        }
        // Whoever knows a group's password can join it (`newgrp`).
        if !matches!(password, b"" | b"x" | b"*" | [b'!', ..]) {
            return Ok(false);
        }
        is_known = true;
        let members = members.split(|byte| *byte == b',');
        for member in members.filter(|member| !member.is_empty()) {
            match own_names.iter().find(|(name, _)| *name == member) {
                Some((_, id)) => holds_user |= *id == user,
                None => return Ok(false),
            }
        }
    }
    Ok(is_known && (holds_user || group == ROOT))
}

/// The groups that have one of these `rights` (execute: 1, write: 2, read: 4) by the bytes of an
/// access list, as Linux keeps it (`linux/posix_acl_xattr.h`), for an object of the group `own`.
/// None if somebody else may have one but root, its owner and `user`, or if it is not understood.
pub fn groups_in(list: &[u8], rights: u16, own: u32, user: Option<u32>) -> Option<Vec<u32>> {
    /// The owner, the mask and all others: the mode has their rights.
    const OF_THE_MODE: [u16; 3] = [0x01, 0x10, 0x20];
    const USER: u16 = 0x02;
    const OWN_GROUP: u16 = 0x04;
    const GROUP: u16 = 0x08;
    let (version, entries) = list.split_first_chunk()?;
    let (entries, rest) = entries.as_chunks::<8>();
    if u32::from_le_bytes(*version) != 2 || !rest.is_empty() {
        return None;
    }
    let mut groups = Vec::new();
    for [t, u, r, s, id @ ..] in entries {
        let (tag, has) = (u16::from_le_bytes([*t, *u]), u16::from_le_bytes([*r, *s]));
        let id = u32::from_le_bytes(*id);
        match tag {
            USER | OWN_GROUP | GROUP if rights & has == 0 => {}
            USER if id == ROOT || Some(id) == user => {}
            OWN_GROUP => groups.push(own),
            GROUP => groups.push(id),
            tag if OF_THE_MODE.contains(&tag) => {}
            _ => return None,
        }
    }
    Some(groups)
}

/// The lines of a file. A `+` or `-` of NIS says that others are members as well: then
/// nothing is proven.
fn lines(bytes: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let lines = || bytes.split(|byte| *byte == b'\n');
    let is_nis = |line: &[u8]| matches!(line.trim_ascii_start().first(), Some(b'+' | b'-'));
    (!lines().any(is_nis)).then(|| lines().filter(|line| line.first() != Some(&b'#')))
}

/// The first four fields of a line. A line with fewer has empty ones, and names no user and
/// no group.
fn fields(line: &[u8]) -> [&[u8]; 4] {
    let mut fields = line.split(|byte| *byte == b':');
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

/// `Some(None)` for an empty field. None if it is not a plain number: the C library may still
/// accept it, so its line may count.
fn number(field: &[u8]) -> Option<Option<u32>> {
    if field.is_empty() {
        return Some(None);
    }
    let digits = field.iter().all(u8::is_ascii_digit).then_some(field)?;
    str::from_utf8(digits).ok()?.parse().ok().map(Some)
}

#[cfg(test)]
mod tests;
