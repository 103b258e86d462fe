//! The map, a root or a mapped file is below a directory of another user, or of
//! one that others may write to. Whoever can rename there decides what the path means: an
//! older map, another key, another of the victim's own files. So nothing there is used,
//! whoever owns it, and `check` names the directory.

use keyhole_tests::{Answer, NOBODY, Session, World, skipped, while_repeating};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    process::geteuid,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown, lchown, symlink},
    path::{Path, PathBuf},
};

const KEY: &str = "k-2c1f8a96d0e34b57";
const REVOKED: &str = "k-91c0d2e4f6a8b0c1";

/// A user who is neither root nor the one who runs the server, and who has no name.
pub(super) const STRANGER: u32 = 54_321;

/// Whether the test can run here: only root can act as two users.
pub(super) fn can_be_two_users() -> bool {
    let can = geteuid().is_root();
    if !can {
        skipped("only root can act as two users");
    }
    can
}

pub(super) fn owned(path: &Path, user: u32, mode: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[derive(Clone, Copy)]
pub(super) enum Thing<'a> {
    Directory,
    File(&'a str),
    Link(&'a Path),
}

/// Makes something that belongs to `user`.
pub(super) fn make(path: &Path, thing: Thing<'_>, user: u32, mode: u32) {
    match thing {
        Thing::Directory => fs::create_dir(path).unwrap(),
        Thing::File(text) => fs::write(path, text).unwrap(),
        Thing::Link(target) => {
            symlink(target, path).unwrap();
            return lchown(path, Some(user), Some(user)).unwrap();
        }
    }
    owned(path, user, mode);
}

/// The stranger's directory. In it are two directories of the victim's, with other files.
fn shared(world: &World) -> PathBuf {
    let shared = world.outside("shared");
    make(&shared, Thing::Directory, STRANGER, 0o755);
    let private = world.path("private.md").display().to_string();
    for (name, more) in [
        ("now", String::new()),
        ("old", format!("{REVOKED} = '{private}'\n")),
    ] {
        let directory = shared.join(name);
        make(&directory, Thing::Directory, NOBODY, 0o755);
        for (file, text) in [
            ("map.toml", format!("[keys]\n{KEY} = 'a.md'\n{more}")),
            ("a.md", format!("hunter2, {name}")),
        ] {
            make(&directory.join(file), Thing::File(&text), NOBODY, 0o600);
        }
    }
    shared
}

#[test]
fn nothing_below_somebody_elses_directory_is_used() {
    if !can_be_two_users() {
        return;
    }
    type Call = fn(&mut Session, &str) -> Answer;
    let bound: Call = |client, _| client.load_bound();
    let named_map = ["--map", "SHARED/map.toml"];
    let binding = "[bindings.b]\npath = 'SHARED/a.md'\n".to_owned();
    let file = format!("[keys]\n{KEY} = 'SHARED/a.md'\n{REVOKED} = 'SHARED/a.md'\n");
    let root =
        format!("roots = ['SHARED']\n[keys]\n{KEY} = 'SHARED/a.md'\n{REVOKED} = '~/link/a.md'\n");
    for (map, arguments, call, code) in [
        (None, &named_map[..], Session::load as Call, "map-invalid"),
        (Some(binding), &["--bind", "b"], bound, "untrusted"),
        (Some(file), &[], Session::load, "untrusted"),
        (Some(root), &[], Session::load, "untrusted"),
    ] {
        let world = World::new()
            .file("a.md", "a\n")
            .file("private.md", "hunter2");
        let shared = shared(&world);
        let named = |text: &str| text.replace("SHARED", shared.join("now").to_str().unwrap());
        let mut world = world.link("link", shared.join("now"));
        if let Some(map) = &map {
            world = world.map(named(map));
        }
        let arguments: Vec<_> = arguments.iter().map(|argument| named(argument)).collect();
        let world = world.arguments(&arguments).unprivileged();
        let mut client = world.client();
        let mut each_is_refused = |times| {
            for _ in 0..times {
                for key in [KEY, REVOKED] {
                    call(&mut client, key).refused(code);
                }
            }
        };
        each_is_refused(1);
        let [now, old] = ["now", "old"].map(|name| shared.join(name));
        let flip = || renameat_with(CWD, &now, CWD, &old, RenameFlags::EXCHANGE).unwrap();
        while_repeating(flip, || each_is_refused(300));
        client.end();
        let mut check = vec!["check".to_owned()];
        if map.is_none() {
            check.extend(arguments);
        }
        let _ = world.run(check).mentions("shared belongs to another user");
    }
}

/// Each directory counts, not only the last.
#[test]
fn what_is_deep_below_a_directory_that_others_may_write_to_is_refused_until_they_may_not() {
    let map = format!("[keys]\n{KEY} = 'a.md'\n{REVOKED} = '~/honest.md'\n");
    for (named, code) in [(true, "map-invalid"), (false, "untrusted")] {
        let mut world = World::new()
            .file("honest.md", "honest\n")
            .file("open/b/c/a.md", "a\n")
            .file("open/b/c/map.toml", &map)
            .map(map.replace("a.md", "~/open/b/c/a.md"));
        if named {
            world = world.arguments(["--map", "open/b/c/map.toml"]);
        }
        let mut client = world.client();
        client.load(KEY).is("a\n");
        for mode in [0o777, 0o757] {
            world.mode("open", mode);
            client.load(KEY).refused(code);
            if !named {
                client.load(REVOKED).is("honest\n");
            }
        }
        let mut check = vec!["check"];
        if named {
            check.extend(["--map", "open/b/c/map.toml"]);
        }
        let _ = world.run(check).mentions("chmod go-w HOME/open\n");
        world.mode("open", 0o755);
        client.load(KEY).is("a\n");
        client.end();
    }
}
