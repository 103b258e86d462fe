//! What each kind of descriptor amounts to.

use super::{STRANGER, SYSTEM, UNKNOWN, USER, is_private, owner_and_mode, private_to};

const FULL: u32 = 0x001F_01FF;
const READ: u32 = 0x0012_00A9;
/// "Modify", as Explorer calls it.
const MODIFY: u32 = 0x0013_01BF;

/// The authority and the parts of a security identifier.
type Sid = (u8, &'static [u32]);

const JANE: Sid = (5, &[21, 1, 2, 3, 1001]);
const JOE: Sid = (5, &[21, 1, 2, 3, 1002]);
const THE_SYSTEM: Sid = (5, &[18]);
const ADMINISTRATORS: Sid = (5, &[32, 544]);
const INSTALLER: Sid = (
    5,
    &[
        80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464,
    ],
);
const EVERYONE: Sid = (1, &[0]);
const AUTHENTICATED: Sid = (5, &[11]);
const USERS: Sid = (5, &[32, 545]);

fn sid((authority, parts): Sid) -> Vec<u8> {
    let mut sid = vec![1, u8::try_from(parts.len()).unwrap_or(0)];
    sid.extend([0, 0, 0, 0, 0, authority]);
    sid.extend(parts.iter().flat_map(|part| part.to_le_bytes()));
    sid
}

/// Kind, flags, rights, who.
type Entry = (u8, u8, u32, Sid);

fn descriptor(owner: Sid, entries: Option<&[Entry]>) -> Vec<u8> {
    let owner = sid(owner);
    let mut list = Vec::new();
    for (kind, flags, rights, who) in entries.unwrap_or_default() {
        let who = sid(*who);
        list.extend([*kind, *flags]);
        list.extend(u16::try_from(8 + who.len()).unwrap_or(0).to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(who);
    }
    let mut all = vec![1, 0];
    all.extend(0x8004_u16.to_le_bytes());
    let at = u32::try_from(20 + owner.len()).unwrap_or(0);
    for offset in [20, 0, 0, entries.map_or(0, |_| at)] {
        all.extend(offset.to_le_bytes());
    }
    all.extend(owner);
    if let Some(entries) = entries {
        all.extend([2, 0]);
        all.extend(u16::try_from(8 + list.len()).unwrap_or(0).to_le_bytes());
        all.extend(u16::try_from(entries.len()).unwrap_or(0).to_le_bytes());
        all.extend([0, 0]);
    }
    all.extend(list);
    all
}

/// To JANE, a file and a directory with these entries are those of this owner, with these
/// modes.
#[track_caller]
fn is(owner: Sid, entries: &[Entry], of: u32, file: u32, directory: u32) {
    let found = descriptor(owner, Some(entries));
    for (is_directory, mode) in [(false, file), (true, directory)] {
        let judged = owner_and_mode(&found, &sid(JANE), is_directory);
        assert_eq!(judged, (of, mode), "{owner:?} {entries:x?} {is_directory}");
    }
}

#[test]
fn the_user_the_system_administrators_and_the_installer_are_trusted_owners() {
    for (owner, of) in [
        (JANE, USER),
        (THE_SYSTEM, SYSTEM),
        (ADMINISTRATORS, SYSTEM),
        (INSTALLER, SYSTEM),
        (JOE, STRANGER),
        (EVERYONE, STRANGER),
        (USERS, STRANGER),
        ((5, &[32]), STRANGER),
        ((5, &[32, 544, 1]), STRANGER),
        ((16, &[18]), STRANGER),
    ] {
        is(owner, &[(0, 0, FULL, JANE)], of, 0o700, 0o700);
    }
}

#[test]
fn who_else_may_change_something_makes_it_untrusted_whatever_the_right() {
    for (rights, file, directory) in [
        (READ, 0o700, 0o700),
        (0x8000_0000 | 0x2000_0000, 0o700, 0o700),
        (0x02, 0o702, 0o1702),
        (0x04, 0o702, 0o1702),
        (READ | 0x06, 0o702, 0o1702),
        (0x10, 0o702, 0o702),
        (0x40, 0o702, 0o702),
        (0x100, 0o702, 0o702),
        (0x0001_0000, 0o702, 0o702),
        (0x0004_0000, 0o702, 0o702),
        (0x0008_0000, 0o702, 0o702),
        (0x1000_0000, 0o702, 0o702),
        (0x4000_0000, 0o702, 0o702),
        (0x0200_0000, 0o702, 0o702),
        (0x0100_0000, 0o702, 0o702),
        (MODIFY, 0o702, 0o702),
    ] {
        for who in [JOE, EVERYONE, AUTHENTICATED, USERS] {
            let list = [(0, 0, FULL, JANE), (0, 0x13, rights, who)];
            is(JANE, &list, USER, file, directory);
        }
    }
}

#[test]
fn the_root_of_a_drive_as_windows_makes_it_is_shared_and_a_home_is_not() {
    let root = [
        (0, 3, FULL, ADMINISTRATORS),
        (0, 3, FULL, THE_SYSTEM),
        (0, 3, READ, USERS),
        (0, 0x0B, MODIFY, AUTHENTICATED),
        (0, 0, 0x04, AUTHENTICATED),
    ];
    is(INSTALLER, &root, SYSTEM, 0o702, 0o1702);
    let home = [
        (0, 3, FULL, THE_SYSTEM),
        (0, 3, FULL, ADMINISTRATORS),
        (0, 3, FULL, JANE),
        (0, 3, FULL, (3, &[0][..])),
        (0, 3, FULL, (3, &[4])),
    ];
    is(THE_SYSTEM, &home, SYSTEM, 0o700, 0o700);
    // A directory that a user makes at a drive's root inherits rights of others.
    let made = [(0, 0x13, MODIFY, AUTHENTICATED), (0, 0x13, FULL, JANE)];
    is(JANE, &made, USER, 0o702, 0o702);
}

#[test]
fn what_is_taken_away_is_not_believed_and_what_is_unknown_gives_all() {
    for (kind, mode) in [(1, 0o700), (9, 0o702), (5, 0o702), (4, 0o702), (17, 0o702)] {
        let list = [(kind, 0, FULL, EVERYONE), (0, 0, FULL, JANE)];
        is(JANE, &list, USER, mode, mode);
    }
    let list = [(1, 0, FULL, EVERYONE), (0, 0, 0x10, EVERYONE)];
    is(JANE, &list, USER, 0o702, 0o702);
}

#[test]
fn without_a_list_nothing_is_trusted_and_with_an_empty_one_nobody_may() {
    let without = descriptor(JANE, None);
    assert_eq!(owner_and_mode(&without, &sid(JANE), true), UNKNOWN);
    is(JANE, &[], USER, 0o700, 0o700);
}

#[test]
fn what_is_cut_short_is_not_trusted() {
    let list = [(0, 0, FULL, JANE), (0, 0, READ, EVERYONE)];
    is(JANE, &list, USER, 0o700, 0o700);
    let whole = descriptor(JANE, Some(&list));
    for end in 0..whole.len() {
        let (_, mode) = owner_and_mode(&whole[..end], &sid(JANE), false);
        assert_eq!(mode, 0o702, "{end}");
        assert!(!is_private(&whole[..end], &sid(JANE)));
    }
}

#[test]
fn what_is_private_to_a_user_lets_nobody_else_do_anything() {
    let own = private_to(&sid(JANE));
    assert!(is_private(&own, &sid(JANE)));
    assert!(!is_private(&own, &sid(JOE)));
    assert_eq!(owner_and_mode(&own, &sid(JANE), true), (USER, 0o700));
    for (owner, who, rights, private) in [
        (JANE, THE_SYSTEM, FULL, true),
        (JANE, ADMINISTRATORS, FULL, true),
        (JANE, EVERYONE, 0x01, false),
        (JANE, JOE, READ, false),
        (THE_SYSTEM, JANE, FULL, false),
    ] {
        let found = descriptor(owner, Some(&[(0, 0, rights, who)]));
        assert_eq!(is_private(&found, &sid(JANE)), private);
    }
}
