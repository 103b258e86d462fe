//! Whether a group is the user under another name.
//!
//! Many systems give each user a group of the same name, and let the group write in the
//! user's home (`umask 002`). Such a group mostly has no other member. Like Debian's
//! OpenSSH, we check who is in it: a separate walk reads `/etc/passwd` and
//! `/etc/group`. These files do not list members that only a network directory knows. A
//! group that is not in these files is never the user's own.
//!
//! macOS keeps its users elsewhere (Open Directory): there, these files are for
//! single-user mode, and name only root in groups that have other members. So no group
//! counts. On Windows there are no such files, and access lists name all who count.

use super::{Walker, error::WalkError, policy::Policy, system::FileSystem};
use std::path::Path;

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";
const ROOT: u32 = 0;

/// The most that is read of either file, in bytes: some ten thousand users.
const MOST: u64 = 1 << 20;

/// Whether the user is in the group, and nobody else except perhaps root.
///
/// # Errors
/// [`WalkError::OutOfResources`] only. If the files cannot be read or understood,
/// nothing is proven, so the answer is no.
pub(super) fn is_of_user_alone<F: FileSystem>(
    walker: &Walker<F>,
    group: u32,
) -> Result<bool, WalkError> {
    if cfg!(not(target_os = "linux")) {
        return Ok(false);
    }
    let (Some(users), Some(groups)) = (read(walker, USERS)?, read(walker, GROUPS)?) else {
        return Ok(false);
    };
    Ok(holds_alone(&users, &groups, group, walker.files().user()).unwrap_or(false))
}

fn read<F: FileSystem>(walker: &Walker<F>, path: &str) -> Result<Option<String>, WalkError> {
    let text = walker
        .walk(Path::new(path), Policy::GROUP_FILE)
        .and_then(|file| walker.read(&file.handle, &file.stat, MOST));
    match text {
        Ok(text) => Ok(text.and_then(|text| String::from_utf8(text).ok())),
        Err(WalkError::OutOfResources) => Err(WalkError::OutOfResources),
        Err(_) => Ok(None),
    }
}

/// None means that a line cannot be understood.
fn holds_alone(users: &str, groups: &str, group: u32, user: u32) -> Option<bool> {
    let mut own_names = Vec::new();
    let mut holds_user = false;
    for line in lines(users) {
        let mut fields = line.split(':');
        let (name, _, id, primary) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        let (id, primary): (u32, u32) = (id.parse().ok()?, primary.parse().ok()?);
        if primary == group {
            holds_user |= id == user;
            if id != user && id != ROOT {
                return Some(false);
            }
        }
        if id == user || id == ROOT {
            own_names.push((name, id));
        }
    }
    let mut known = false;
    for line in lines(groups) {
        let mut fields = line.split(':');
        let (_, _, id, members) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        if id.parse::<u32>().ok()? != group {
            continue;
        }
        known = true;
        for member in members.split(',').filter(|member| !member.is_empty()) {
            let (_, id) = own_names.iter().find(|(name, _)| *name == member)?;
            holds_user |= *id == user;
        }
    }
    Some(known && holds_user)
}

/// The lines without comments. A `+` or `-` of NIS says that others are members as
/// well: such a line cannot be understood, so nothing is proven.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::holds_alone;

    const USERS: &str = "root:x:0:0::/root:/bin/sh\n# a comment\njane:x:1000:1000::/home/jane:/bin/sh\njoe:x:1001:1001::/home/joe:/bin/sh\nann:x:1002:1000::/:/bin/sh\n";

    #[test]
    fn a_group_is_the_users_own_if_nobody_else_is_in_it() {
        let groups = "root:x:0:\njane:x:1000:\njoe:x:1001:\nboth:x:50:joe,root\nteam:x:60:joe,jane\nempty:x:70:\nops:x:80:root\n\n# a comment\n";
        for (group, user, alone) in [
            (1001, 1001, true),
            (50, 1001, true),
            // Somebody else's primary group is the same.
            (1000, 1000, false),
            (60, 1001, false),
            // Nobody, or not this user.
            (70, 1001, false),
            (1001, 1000, false),
            (0, 1001, false),
            (80, 1001, false),
            // Not known here: a network directory's.
            (5000, 1001, false),
        ] {
            let answer = holds_alone(USERS, groups, group, user).unwrap_or(false);
            assert_eq!(answer, alone, "{group} {user}");
        }
    }

    #[test]
    fn a_group_that_is_listed_twice_has_the_members_of_both_lines() {
        let groups = "joe:x:1001:\nalias:x:1001:jane\n";
        assert_eq!(holds_alone(USERS, groups, 1001, 1001), None);
    }

    #[test]
    fn a_line_that_is_not_understood_proves_nothing() {
        for (users, groups) in [
            ("joe:x:1001:1001\n+::::::\n", "joe:x:1001:\n"),
            ("joe:x:1001:1001\n", "joe:x:1001:\n+:::\n"),
            ("joe:x:1001:1001\n", "joe:x:1001:stranger\n"),
            ("joe:x:1001\n", "joe:x:1001:\n"),
        ] {
            assert_eq!(
                holds_alone(users, groups, 1001, 1001),
                None,
                "{users} {groups}"
            );
        }
    }
}
