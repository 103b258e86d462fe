//! Somebody else put another folder in the place of the plugin's data folder, or made it look
//! like the user's own, and its launcher believed that. The program judges each directory,
//! link and mount on the way itself, whenever it leaves or redeems a ticket.

use super::{
    foreign_directory::{STRANGER, can_be_two_users, owned},
    fuse::Hanging,
};
use crate::plugin::{ask, call, question};
use keyhole_tests::World;
use rustix::process::geteuid;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{chown, lchown, symlink},
};

/// What somebody does to the folder `data`. Some of it lasts as long as what it returns. None
/// means that this system cannot do it.
type Harm = fn(&World) -> Option<Vec<Hanging>>;

#[test]
fn no_ticket_is_left_or_redeemed_in_a_folder_that_somebody_else_could_have_put_there() {
    if !can_be_two_users() {
        return;
    }
    let harms: [Harm; 3] = [
        // A group with other members may rename it.
        |world| {
            owned(world.home(), geteuid().as_raw(), 0o775);
            chown(world.home(), None, Some(STRANGER)).unwrap();
            Some(Vec::new())
        },
        // A mount in which whoever mounted it says who owns what.
        |world| {
            let options = format!("{STRANGER},default_permissions");
            Some(vec![Hanging::mount_as(&options, &world.path("data"))?])
        },
        // The second of two links can be turned by its owner.
        |world| {
            fs::rename(world.path("data"), world.path("real")).unwrap();
            symlink(world.path("real"), world.path("second")).unwrap();
            lchown(world.path("second"), Some(STRANGER), None).unwrap();
            symlink(world.path("second"), world.path("data")).unwrap();
            Some(Vec::new())
        },
    ];
    for harm in harms {
        let world = World::new().with_k1("hunter2").plugin_data();
        let world = world.argument("--require-ticket");
        let mut client = world.client();
        for id in ["toolu_1", "toolu_2"] {
            let _ = ask(&world, &question(id, "reader", "k-1")).exits(0);
        }
        call(&mut client, json!({ "key": "k-1" }), "toolu_1").is("hunter2");
        let Some(mounted) = harm(&world) else {
            continue;
        };
        let asked = ask(&world, &question("toolu_3", "reader", "k-1")).exits(2);
        assert!(asked.stderr.contains("others can write to"), "{asked:?}");
        for id in ["toolu_2", "toolu_3"] {
            let answer = call(&mut client, json!({ "key": "k-1" }), id);
            answer.refused("caller-not-verified");
        }
        drop(mounted);
        client.end();
    }
}
