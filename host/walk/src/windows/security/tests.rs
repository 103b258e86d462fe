//! What each kind of descriptor amounts to.

use super::{STRANGER, SYSTEM, UNKNOWN, USER, is_private, owner_and_mode, private_to};

const FULL: u32 = 0x001F_01FF;
const READ: u32 = 0x0012_00A9;
/// "Modify", as Explorer calls it.
const MODIFY: u32 = 0x0013_01BF;

fn sid(authority: u8, parts: &[u32]) -> Vec<u8> {
    let mut sid = vec![1, u8::try_from(parts.len()).unwrap_or(0)];
    sid.extend([0, 0, 0, 0, 0, authority]);
    sid.extend(parts.iter().flat_map(|part| part.to_le_bytes()));
    sid
}

fn jane() -> Vec<u8> {
    sid(5, &[21, 1, 2, 3, 1001])
}
fn joe() -> Vec<u8> {
    sid(5, &[21, 1, 2, 3, 1002])
}
fn system() -> Vec<u8> {
    sid(5, &[18])
}
fn administrators() -> Vec<u8> {
    sid(5, &[32, 544])
}
fn installer() -> Vec<u8> {
    let parts = [
        80,
        956_008_885,
        3_418_522_649,
        1_831_038_044,
        1_853_292_631,
        2_271_478_464,
    ];
    sid(5, &parts)
}
fn everyone() -> Vec<u8> {
    sid(1, &[0])
}
fn authenticated() -> Vec<u8> {
    sid(5, &[11])
}
fn users() -> Vec<u8> {
    sid(5, &[32, 545])
}

/// Kind, flags, rights, who.
type Entry = (u8, u8, u32, Vec<u8>);

fn descriptor(owner: &[u8], entries: Option<&[Entry]>) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, flags, rights, who) in entries.unwrap_or_default() {
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

#[test]
fn the_user_the_system_administrators_and_the_installer_are_trusted_owners() {
    let own = [(0, 0, FULL, jane())];
    for (owner, is) in [
        (jane(), USER),
        (system(), SYSTEM),
        (administrators(), SYSTEM),
        (installer(), SYSTEM),
        (joe(), STRANGER),
        (everyone(), STRANGER),
        (users(), STRANGER),
        (sid(5, &[32]), STRANGER),
        (sid(5, &[32, 544, 1]), STRANGER),
        (sid(16, &[18]), STRANGER),
    ] {
        let found = owner_and_mode(&descriptor(&owner, Some(&own)), &jane(), false);
        assert_eq!(found, (is, 0o700), "{owner:?}");
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
        for who in [joe(), everyone(), authenticated(), users()] {
            let list = [(0, 0, FULL, jane()), (0, 0x13, rights, who)];
            let found = descriptor(&jane(), Some(&list));
            assert_eq!(
                owner_and_mode(&found, &jane(), false),
                (USER, file),
                "{rights:x}"
            );
            assert_eq!(
                owner_and_mode(&found, &jane(), true),
                (USER, directory),
                "{rights:x}"
            );
        }
    }
}

#[test]
fn the_root_of_a_drive_as_windows_makes_it_is_shared_and_a_home_is_not() {
    let root = [
        (0, 3, FULL, administrators()),
        (0, 3, FULL, system()),
        (0, 3, READ, users()),
        (0, 0x0B, MODIFY, authenticated()),
        (0, 0, 0x04, authenticated()),
    ];
    let found = descriptor(&installer(), Some(&root));
    assert_eq!(owner_and_mode(&found, &jane(), true), (SYSTEM, 0o1702));
    let home = [
        (0, 3, FULL, system()),
        (0, 3, FULL, administrators()),
        (0, 3, FULL, jane()),
        (0, 3, FULL, sid(3, &[0])),
        (0, 3, FULL, sid(3, &[4])),
    ];
    let found = descriptor(&system(), Some(&home));
    assert_eq!(owner_and_mode(&found, &jane(), true), (SYSTEM, 0o700));
    // A directory that a user makes at a drive's root inherits rights of others.
    let made = [(0, 0x13, MODIFY, authenticated()), (0, 0x13, FULL, jane())];
    let found = descriptor(&jane(), Some(&made));
    assert_eq!(owner_and_mode(&found, &jane(), true), (USER, 0o702));
}

#[test]
fn what_is_taken_away_is_not_believed_and_what_is_unknown_gives_all() {
    for (kind, mode) in [(1, 0o700), (9, 0o702), (5, 0o702), (4, 0o702), (17, 0o702)] {
        let list = [(kind, 0, FULL, everyone()), (0, 0, FULL, jane())];
        let found = descriptor(&jane(), Some(&list));
        assert_eq!(
            owner_and_mode(&found, &jane(), false),
            (USER, mode),
            "{kind}"
        );
    }
    let list = [(1, 0, FULL, everyone()), (0, 0, 0x02, everyone())];
    let found = descriptor(&jane(), Some(&list));
    assert_eq!(owner_and_mode(&found, &jane(), false), (USER, 0o702));
}

#[test]
fn without_a_list_nothing_is_trusted_and_with_an_empty_one_nobody_may() {
    assert_eq!(
        owner_and_mode(&descriptor(&jane(), None), &jane(), true),
        UNKNOWN
    );
    let found = descriptor(&jane(), Some(&[]));
    assert_eq!(owner_and_mode(&found, &jane(), true), (USER, 0o700));
}

#[test]
fn what_is_cut_short_is_not_trusted() {
    let list = [(0, 0, FULL, jane()), (0, 0, READ, everyone())];
    let whole = descriptor(&jane(), Some(&list));
    assert_eq!(owner_and_mode(&whole, &jane(), false), (USER, 0o700));
    for end in 0..whole.len() {
        let (_, mode) = owner_and_mode(&whole[..end], &jane(), false);
        assert_eq!(mode, 0o702, "{end}");
        assert!(!is_private(&whole[..end], &jane()));
    }
}

#[test]
fn what_is_private_to_a_user_lets_nobody_else_do_anything() {
    let own = private_to(&jane());
    assert!(is_private(&own, &jane()));
    assert!(!is_private(&own, &joe()));
    assert_eq!(owner_and_mode(&own, &jane(), true), (USER, 0o700));
    for (owner, who, rights, private) in [
        (jane(), system(), FULL, true),
        (jane(), administrators(), FULL, true),
        (jane(), everyone(), 0x01, false),
        (jane(), joe(), READ, false),
        (system(), jane(), FULL, false),
    ] {
        let found = descriptor(&owner, Some(&[(0, 0, rights, who)]));
        assert_eq!(is_private(&found, &jane()), private);
    }
}
