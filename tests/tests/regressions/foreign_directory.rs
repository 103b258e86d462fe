//! A root or a mapped file is below a directory of another user. Whoever can rename there
//! decides what the path means: another of the victim's own files. So nothing there is used,
//! whoever owns it, and `check` names the directory. `hostile::map` has the same of the map, and
//! `hostile::tree` of directories that others may write to.

use keyhole_tests::{NOBODY, World, skipped};
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
};

const KEY: &str = "k-2c1f8a96d0e34b57";

/// A user who is neither root nor the one who runs the server, and who has no name.
pub(crate) const STRANGER: u32 = 54_321;

/// Whether the test can run here: only root can act as two users.
pub(crate) fn can_be_two_users() -> bool {
    let can = geteuid().is_root();
    if !can {
        skipped("only root can act as two users");
    }
    can
}

pub(crate) fn owned(path: &Path, user: u32, mode: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn nothing_below_somebody_elses_directory_is_used() {
    if !can_be_two_users() {
        return;
    }
    for (map, arguments) in [
        ("[keys]\nKEY = 'SHARED/now/a.md'\n", &[][..]),
        ("roots = ['SHARED/now']\n[keys]\nKEY = '~/link/a.md'\n", &[]),
        ("[bindings.b]\npath = 'SHARED/now/a.md'\n", &["--bind", "b"]),
    ] {
        let world = World::new();
        // The stranger's directory has one of the victim's in it.
        let shared = world.outside("shared");
        fs::create_dir_all(shared.join("now")).unwrap();
        fs::write(shared.join("now/a.md"), "hunter2").unwrap();
        for (name, owner) in [("", STRANGER), ("now", NOBODY), ("now/a.md", NOBODY)] {
            owned(&shared.join(name), owner, 0o755);
        }
        let map = map.replace("SHARED", shared.to_str().unwrap());
        let world = world.link("link", shared.join("now"));
        let world = world.map(map.replace("KEY", KEY)).arguments(arguments);
        let world = world.unprivileged();
        let mut client = world.client();
        let answer = match arguments {
            [] => client.load(KEY),
            _ => client.load_bound(),
        };
        answer.refused("untrusted");
        client.end();
        let _ = world
            .run(["check"])
            .mentions("shared belongs to another user");
    }
}
