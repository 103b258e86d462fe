use super::{Contents, GROUPS, USERS};

fn holds_alone(users: &[u8], groups: &[u8], group: u32, user: u32) -> Result<bool, &'static str> {
    let files = Contents {
        users: users.to_vec(),
        groups: groups.to_vec(),
    };
    files.holds_alone(group, user)
}

const OF_USERS: &[u8] = b"root:x:0:0::/root:/bin/sh\n# a comment\njane:x:1000:1000::/home/jane:/bin/sh\njoe:x:1001:1001:J\xfce:/home/joe:/bin/sh\nann:x:1002:1000::/:/bin/sh\n";

#[test]
fn a_group_is_the_users_own_if_nobody_else_is_in_it() {
    let groups = b"root:x:0:\njane:x:1000:\njoe:x:1001:\nboth:x:50:joe,root\nteam:x:60:joe,jane\nempty:x:70:\nops:x:80:root\n\n# a comment\nodd:x:90:j\xffe,joe\nshut:!:91:joe\nopen:$6$salt$hash:92:joe\n";
    for (group, user, alone) in [
        (1001, 1001, true),
        (50, 1001, true),
        // Somebody else's primary group is the same.
        (1000, 1000, false),
        (60, 1001, false),
        // Nobody, or not this user.
        (70, 1001, false),
        (1001, 1000, false),
        (80, 1001, false),
        // Root's own has nobody but root.
        (0, 1001, true),
        // A name that is not UTF-8 is a name like any other.
        (90, 1001, false),
        // No password, and one.
        (91, 1001, true),
        (92, 1001, false),
        // Not known here: a network directory's.
        (5000, 1001, false),
    ] {
        let answer = holds_alone(OF_USERS, groups, group, user);
        assert_eq!(answer, Ok(alone), "{group} {user}");
    }
}

#[test]
fn a_group_that_is_listed_twice_has_the_members_of_both_lines() {
    let groups = b"joe:x:1001:\nalias:x:1001:jane\nroot:x:0:\nwheel:x:0:jane\n";
    for group in [1001, 0] {
        assert_eq!(holds_alone(OF_USERS, groups, group, 1001), Ok(false));
    }
}

#[test]
fn a_line_that_does_not_count_changes_nothing_whatever_it_holds() {
    let users = [OF_USERS, b"\xff\xfe\nshort:x\n\xff:\xff:3:7:\xff:\n"].concat();
    let groups = b"joe:x:1001:\n\xff:x:9:jane,\xff\nteam:x:60\n\xff\n";
    assert_eq!(holds_alone(&users, groups, 1001, 1001), Ok(true));
}

#[test]
fn a_line_that_counts_and_is_not_understood_proves_nothing() {
    const JOE: &[u8] = b"joe:x:1001:1001\n";
    for (users, groups, file) in [
        (JOE, &b"joe:x:1001:\n+:::\n"[..], GROUPS),
        (b"joe:x:1001:1001\n+::::::\n", b"joe:x:1001:\n", USERS),
        (b"joe:x:1001:1001\nx:x:\xff:7\n", b"joe:x:1001:\n", USERS),
        (b"joe:x:1001:1001\nx:x:7: 1001\n", b"joe:x:1001:\n", USERS),
        (JOE, b"joe:x:1001:\nx:x:+1001:jane\n", GROUPS),
    ] {
        assert_eq!(holds_alone(users, groups, 1001, 1001), Err(file));
    }
    let stranger = b"joe:x:1001:stranger\n";
    assert_eq!(holds_alone(JOE, stranger, 1001, 1001), Ok(false));
}
