//! Another user, or whoever wrote a repository, made a link whose target he chose. `check`
//! printed a command that acts on that target, such as `sudo chown "$USER" /etc/shadow`, or
//! showed its name: an escape sequence that sets the clipboard, or a line of its own.

use super::{STRANGER, can_be_two_users, owned};
use keyhole_tests::{NOBODY, World};
use keyhole_walk::printable::is_visible;
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, lchown, symlink},
    },
};

/// What a name may hold, and no reader sees as it is.
const ODD: [&[u8]; 8] = [
    b"\x1b]52;c;cm0gLXJmIH4=\x07",
    b"\x1b[31m",
    b"\n1 of 1 would be served.\n",
    b"\r",
    "\u{9b}2J".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{200b}".as_bytes(),
    b"\xff",
];

/// What `check` prints in a pipe, on a terminal and as JSON.
fn printed(world: &World, arguments: &[&OsStr]) -> Vec<String> {
    let with = |more: Option<&'static str>| {
        let all = [Some("check"), more].into_iter().flatten();
        let all = all.map(OsStr::new).chain(arguments.iter().copied());
        all.map(OsStr::to_owned).collect::<Vec<_>>()
    };
    let json = world.run(with(Some("--json")));
    let _ = json.json();
    let printed = vec![world.run(with(None)).stdout, json.stdout];
    #[cfg(target_os = "linux")]
    let printed = {
        let (shown, _) = world.asked(with(None), &[]);
        [printed, vec![shown]].concat()
    };
    printed
}

/// It holds no command, no character that a terminal acts on, and no line of somebody else's.
#[track_caller]
fn is_safe(printed: &str) {
    for command in ["sudo", "chown", "chmod", "mv ", "iconv", "un: "] {
        assert!(!printed.contains(command), "{command}: {printed}");
    }
    let odd = printed.chars().find(|c| *c != '\n' && !is_visible(*c));
    assert_eq!(odd, None, "{printed}");
    let forged = printed
        .lines()
        .find(|line| *line == "1 of 1 would be served.");
    assert_eq!(forged, None, "{printed}");
    // A name that is not shown whole is another one.
    for part in ["target", "\u{fffd}"] {
        assert!(!printed.contains(part), "{part}: {printed}");
    }
}

/// In the repository are links to files of each kind that `check` has advice about. `roots`
/// keep what they do not have from being anything but outside.
fn repository(odd: &[u8], roots: bool) -> World {
    let world = World::new().directory("repository");
    let name = [b"target", odd].concat();
    let target = world.path("").join(OsStr::from_bytes(&name));
    for (folder, mode) in [("private", 0o700), ("open", 0o777)] {
        let folder = target.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    }
    let mut map = match roots {
        true => "roots = ['~/repository']\n[keys]\n".to_owned(),
        false => "[keys]\n".to_owned(),
    };
    let files: [(&str, &[u8], u32); 7] = [
        ("private/a.md", b"a", 0o600),
        ("private/written.md", b"a", 0o666),
        ("private/list", b"a", 0o600),
        ("private/latin1.md", b"caf\xe9", 0o600),
        ("private/locked.md", b"a", 0o000),
        ("open/a.md", b"a", 0o600),
        ("private/none.md", b"", 0),
    ];
    let mut world = world;
    for (at, (file, content, mode)) in files.into_iter().enumerate() {
        let target = target.join(file);
        if !file.contains("none") {
            fs::write(&target, content).unwrap();
            fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
        }
        world = world.link(&format!("repository/{at}.md"), target);
        map += &format!("k-7f3a9c55aa01be{at:02} = '~/repository/{at}.md'\n");
    }
    world.map(map).unprivileged()
}

#[test]
fn a_link_to_a_name_with_an_odd_character_puts_neither_it_nor_a_command_on_the_screen() {
    for odd in ODD {
        for roots in [false, true] {
            let world = repository(odd, roots);
            printed(&world, &[]).iter().for_each(|text| is_safe(text));
        }
    }
}

/// There a command would be about the user's own, as the map names it.
#[test]
fn no_command_holds_an_odd_character_of_a_path_that_the_map_names() {
    for odd in ODD.iter().filter_map(|odd| str::from_utf8(odd).ok()) {
        let name = format!("open{odd}");
        let path: String = format!("~/{name}/a.md")
            .chars()
            .map(|c| format!("\\U{:08X}", u32::from(c)))
            .collect();
        let world = World::new()
            .file(&format!("{name}/a.md"), "a")
            .map(format!("[keys]\nk-7f3a9c55aa01beef = \"{path}\"\n"));
        world.mode(&name, 0o777);
        printed(&world, &[]).iter().for_each(|text| is_safe(text));
        // The map itself.
        world.write(&format!("{name}/map.toml"), "");
        let map = world.path(&name).join("map.toml");
        let named = printed(&world, &["--map".as_ref(), map.as_ref()]);
        named.iter().for_each(|text| is_safe(text));
    }
}

/// A link that another user made in a directory like `/tmp`, and a link of the user's own.
#[test]
fn no_command_is_about_what_a_link_leads_to() {
    if !can_be_two_users() {
        return;
    }
    for (maker, user) in [(STRANGER, 0), (STRANGER, NOBODY), (0, 0), (NOBODY, NOBODY)] {
        let world = World::new().file("private/target.md", "a");
        let sticky = world.outside("sticky");
        fs::create_dir(&sticky).unwrap();
        owned(&sticky, 0, 0o1777);
        let target = world.path("private/target.md");
        for (name, target) in [
            ("shadow.md", "/etc/shadow".as_ref()),
            ("own.md", target.as_path()),
            ("map.toml", "/etc/shadow".as_ref()),
        ] {
            let link = sticky.join(name);
            symlink(target, &link).unwrap();
            lchown(link, Some(maker), Some(maker)).unwrap();
        }
        let [shadow, own, map] = ["shadow.md", "own.md", "map.toml"].map(|name| sticky.join(name));
        let world = world.map(format!(
            "[keys]\nk-7f3a9c55aa01beef = '{}'\nm-7f3a9c55aa01beef = '{}'\n",
            shadow.display(),
            own.display()
        ));
        let world = world.run_by(user);
        for arguments in [&[][..], &["--map".as_ref(), map.as_os_str()]] {
            for text in printed(&world, arguments) {
                is_safe(&text);
                assert!(!text.contains("/etc/shadow"), "{text}");
            }
        }
        let keyed = world.run(["setup", "key", shadow.to_str().unwrap()]);
        is_safe(&keyed.stderr);
    }
}

/// Its directory is the user's, and the file in it another user's.
#[test]
fn no_command_is_about_what_another_user_owns() {
    if !can_be_two_users() {
        return;
    }
    let map = "[keys]\nk-7f3a9c55aa01beef = '~/n/a.md'\n";
    let world = World::new().file("n/a.md", "a").map(map).run_by(NOBODY);
    owned(&world.path("n/a.md"), STRANGER, 0o666);
    for text in printed(&world, &[]) {
        is_safe(&text);
        assert!(text.contains("belongs to another user"), "{text}");
    }
}
