//! Who is in a group, by the bytes of `/etc/passwd` and `/etc/group`.
//!
//! Any user may have part of their line changed (`chfn`). So both files are read as bytes,
//! and only the lines that count: those of the group, and of the users who are in it.

use crate::trust::ROOT;

pub(crate) const USERS: &str = "/etc/passwd";
pub(crate) const GROUPS: &str = "/etc/group";

/// Both files, as they were when a walk first needed them; or the path of the one that could not
/// be read.
#[derive(Debug)]
pub struct GroupFiles(pub(crate) Result<Contents, &'static str>);

/// The bytes of both files.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) users: Vec<u8>,
    pub(crate) groups: Vec<u8>,
}

impl Contents {
    /// Whether `user` is in the group, and nobody else except perhaps root. Root's own group need
    /// not hold the user. False for a group that is not listed, or that has a password.
    ///
    /// # Errors
    /// The path of the file in which a line that counts cannot be understood.
    pub(crate) fn holds_alone(&self, group: u32, user: u32) -> Result<bool, &'static str> {
        let mut holds_user = false;
        // The names of the user and of root, each with its id: a group lists its members by name.
        let mut own_names = Vec::new();
        for line in lines(&self.users, USERS)? {
            let [name, _password, id_field, primary_field] = fields(line);
            // None if the field is empty.
            let id = number(id_field, USERS)?;
            let is_primary = number(primary_field, USERS)? == Some(group);
            match id {
                Some(id) if id == user || id == ROOT => {
                    own_names.push((name, id));
                    holds_user |= is_primary && id == user;
                }
                // Somebody else, or a user without a number, has this as the primary group.
                _ if is_primary => return Ok(false),
                _ => {}
            }
        }
        let mut is_listed = false;
        for line in lines(&self.groups, GROUPS)? {
            let [_name, password, id_field, members] = fields(line);
            if number(id_field, GROUPS)? != Some(group) {
                continue;
            }
            is_listed = true;
            // Whoever knows a group's password can join it (`newgrp`).
            if !matches!(password, b"" | b"x" | b"*" | [b'!', ..]) {
                return Ok(false);
            }
            for member in members.split(|byte| *byte == b',') {
                if member.is_empty() {
                    continue;
                }
                match own_names.iter().find(|(name, _)| *name == member) {
                    Some((_, id)) => holds_user |= *id == user,
                    None => return Ok(false),
                }
            }
        }
        Ok(is_listed && (holds_user || group == ROOT))
    }
}

/// The lines of the file at `path`, without comments. The error is `path`, if a line begins with
/// the `+` or `-` of NIS: it says that others are members as well, so nothing is proven.
fn lines<'a>(bytes: &'a [u8], path: &'static str) -> Result<Vec<&'a [u8]>, &'static str> {
    let mut lines = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let [b'+' | b'-', ..] = line.trim_ascii_start() {
            return Err(path);
        }
        if !line.starts_with(b"#") {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// The first four fields of a line. A line with fewer has empty ones, and names no user and
/// no group.
fn fields(line: &[u8]) -> [&[u8]; 4] {
    let mut fields = line.split(|byte| *byte == b':');
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

/// The number in a field of the file at `path`. None for an empty field. The error is `path`, for
/// anything but digits: the C library may still accept it, so its line may count.
fn number(field: &[u8], path: &'static str) -> Result<Option<u32>, &'static str> {
    if field.is_empty() {
        return Ok(None);
    }
    if !field.iter().all(u8::is_ascii_digit) {
        return Err(path);
    }
    let digits = str::from_utf8(field).map_err(|_| path)?;
    let number = digits.parse().map_err(|_| path)?;
    Ok(Some(number))
}

#[cfg(test)]
mod tests;
