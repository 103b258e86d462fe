//! Somebody else put another folder in the place of the plugin's data folder, or made it look
//! like the user's own, and its launcher believed that. The program judges each directory,
//! link and mount on the way itself, whenever it makes the folder, and leaves or redeems a
//! ticket.

use super::{STRANGER, can_be_two_users, fuse::Hanging, owned};
use crate::plugin::{ask, call, question};
use keyhole_tests::World;
use rustix::process::geteuid;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{chown, lchown, symlink},
};

/// What somebody does to the folder `data`; some of it lasts as long as what this returns.
type Harm = fn(&World) -> Option<Hanging>;

const A_MOUNT: &str = "a mount in which whoever mounted it says who owns what";

const HARMS: [(&str, Harm); 9] = [
    (A_MOUNT, |world| {
        let options = format!("{STRANGER},default_permissions");
        Hanging::mount_as(&options, &world.path("data"))
    }),
    ("a group with other members may rename it", |world| {
        owned(world.home(), geteuid().as_raw(), 0o775);
        chown(world.home(), None, Some(STRANGER)).unwrap();
        None
    }),
    (
        "the second of two links can be turned by its owner",
        |world| {
            fs::rename(world.path("data"), world.path("real")).unwrap();
            symlink(world.path("real"), world.path("second")).unwrap();
            lchown(world.path("second"), Some(STRANGER), None).unwrap();
            symlink(world.path("second"), world.path("data")).unwrap();
            None
        },
    ),
    ("others may write in it", |world| {
        opened(world, "data", 0o773)
    }),
    ("others may create files in it, as in /tmp", |world| {
        opened(world, "data", 0o1777)
    }),
    ("others may rename it", |world| opened(world, "", 0o757)),
    ("others may rename the folder above", |world| {
        opened(world, "..", 0o777)
    }),
    ("it is another user's", |world| {
        owned(&world.path("data"), STRANGER, 0o755);
        None
    }),
    ("a folder above is another user's", |world| {
        owned(&world.outside(""), STRANGER, 0o1777);
        None
    }),
];

fn opened(world: &World, path: &str, mode: u32) -> Option<Hanging> {
    world.mode(path, mode);
    None
}

#[test]
fn no_ticket_is_left_or_redeemed_in_a_folder_that_somebody_else_could_have_put_there() {
    if !can_be_two_users() {
        return;
    }
    for (what, harm) in HARMS {
        let world = World::new().with_k1("hunter2").plugin_data();
        let world = world.argument("--require-ticket");
        let mut client = world.client();
        for id in ["toolu_1", "toolu_2"] {
            let _ = ask(&world, &question(id, "reader", "k-1")).exits(0);
        }
        call(&mut client, json!({ "key": "k-1" }), "toolu_1").is("hunter2");
        let mounted = harm(&world);
        if what == A_MOUNT && mounted.is_none() {
            continue;
        }
        // What a session's start runs, and the guard.
        let made = world.run(["tickets"]).exits(1);
        let asked = ask(&world, &question("toolu_3", "reader", "k-1")).exits(2);
        for ran in [made, asked] {
            assert!(
                ran.stderr.contains("others can write to"),
                "{what}: {ran:?}"
            );
        }
        for id in ["toolu_2", "toolu_3"] {
            let answer = call(&mut client, json!({ "key": "k-1" }), id);
            answer.refused("caller-not-verified");
        }
        drop(mounted);
        client.end();
    }
}
