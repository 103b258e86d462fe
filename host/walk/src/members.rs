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
    /// Whether `user` is in the group with the number `group`, and nobody else is, except perhaps
    /// root. In the group 0, which is root's, `user` need not be.
    ///
    /// With the line `jane:x:1000:1000:…` in `/etc/passwd` and `jane:x:1000:` in `/etc/group`, true
    /// for the group 1000 and the user 1000. False if `/etc/group` lists another member or a user
    /// has it as the primary group; if the group is not listed, or has a password.
    ///
    /// # Errors
    /// The path of the file that cannot be understood: the number of a user or group is not digits
    /// only, or a line begins with `+` or `-`.
    pub(crate) fn holds_alone(&self, group: u32, user: u32) -> Result<bool, &'static str> {
        let mut holds_user = false;
        // Names, each with its id, that mean the user or root: a group lists its members by name.
        let mut own_names = Vec::new();
        for line in lines(&self.users, USERS)? {
            let [name, _password, id_field, primary_field] = fields(line);
            // None if the field is empty.
            let id = number(id_field, USERS)?;
            let is_primary = number(primary_field, USERS)? == Some(group);
            match id {
                // `/etc/group` need not list the members of their own primary group.
                Some(id) if id == user || id == ROOT => {
                    own_names.push((name, id));
                    holds_user |= is_primary && id == user;
                }
                // Somebody else, or a user without a number, has this group as the primary one.
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
                    // The user or root. A group with root alone does not count as the user's.
                    Some((_, id)) => holds_user |= *id == user,
                    // Somebody else is a member.
                    None => return Ok(false),
                }
            }
        }
        Ok(is_listed && (holds_user || group == ROOT))
    }
}

/// The lines of a file with these `bytes`, without the lines that begin with `#`. The error is
/// `path`, the file's own path, if a line begins with a `+` or `-`, as `+@staff::::::`. By such a
/// line, NIS adds users or members from elsewhere, so the file does not say who is in a group.
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

/// The first four fields of a line, which `:` separates: `jane`, `x`, `1000` and `100` for
/// `jane:x:1000:100:Jane:/home/jane`. In place of fields that the line does not have, empty ones.
fn fields(line: &[u8]) -> [&[u8]; 4] {
    let mut fields = line.split(|byte| *byte == b':');
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

/// The number in a field of the file at `path`: 1000 for `1000`. None for an empty field. The error
/// is `path`, for anything but digits, as `1e3` or ` 7`, and for a number of more than 32 bits: the
/// C library may accept such a field, so the line may count.
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
