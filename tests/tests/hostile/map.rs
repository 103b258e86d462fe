//! A map that was made to do harm, or that somebody else may have written. While it is
//! in place, the server refuses every key; after it is fixed, the same server goes on.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::{World, without_start};
use rustix::process::geteuid;
use std::{
    fs,
    os::unix::{
        fs::{chown, lchown, symlink},
        net::UnixListener,
    },
};

world_attacks! {
    "A hostile map";
    missing: "there is no map" => "`map-missing`" = harmed("map-missing", gone);
    fifo: "the map is a FIFO that nobody writes to" =>
        "`map-invalid`" = replaced(|world| ground::fifo(&world.map_path()));
    directory: "the map is a directory" =>
        "`map-invalid`" = replaced(|world| fs::create_dir(world.map_path()).unwrap());
    socket: "the map is a socket" =>
        "`map-invalid`" = replaced(|world| drop(UnixListener::bind(world.map_path()).unwrap()));
    device: "the map is a link to `/dev/zero`" =>
        "`map-invalid`" = replaced(|world| symlink("/dev/zero", world.map_path()).unwrap());
    link: "the map is a link to a map of the same user" =>
        "served: what counts is the real file, its owner and its mode" = {
        let world = world().file("dotfiles/map.toml", HONEST);
        gone(&world);
        symlink(world.path("dotfiles/map.toml"), world.map_path()).unwrap();
        world.load("k-honest").is("honest\n");
        Ok("served: what counts is the real file, its owner and its mode".to_owned())
    };
    link_to_nothing: "the map is a link to nothing" =>
        "`map-missing`" = harmed("map-missing", |world| {
        gone(world);
        symlink("nothing.toml", world.map_path()).unwrap();
    });
    another_users: "the map belongs to another user" => "`map-invalid`" = {
        root_only()?;
        harmed("map-invalid", |world| chown(world.map_path(), STRANGER, None).unwrap())
    };
    another_users_directory: "the map's directory belongs to another user" => "`map-invalid`" = {
        root_only()?;
        harmed("map-invalid", |world| chown(world.path(DIRECTORY), STRANGER, None).unwrap())
    };
    link_to_another_users: "the map is a link to one that belongs to another user" =>
        "`map-invalid`" = {
        root_only()?;
        replaced(|world| {
            world.write("dotfiles/map.toml", HONEST);
            chown(world.path("dotfiles/map.toml"), STRANGER, None).unwrap();
            symlink(world.path("dotfiles/map.toml"), world.map_path()).unwrap();
        })
    };
    writable_by_others: "others may write to the map" =>
        "`map-invalid`" = harmed("map-invalid", |world| world.mode(MAP, 0o666));
    directory_writable_by_others: "others may replace the map" =>
        "`map-invalid`" = harmed("map-invalid", |world| world.mode(DIRECTORY, 0o777));
    link_that_others_may_replace: "the map is reached through a link in a directory that others may write to" =>
        "`map-invalid`" = replaced(|world| link_in(world, 0o777, None));
    another_users_link: "the map is reached through a link of another user in `/tmp`'s manner" =>
        "`map-invalid`" = {
        root_only()?;
        replaced(|world| link_in(world, 0o1777, STRANGER))
    };
    unreadable: "the map may not be read" => "`map-invalid`" = {
        let world = world();
        world.mode(MAP, 0);
        let world = world.unprivileged();
        let mut client = world.client();
        client.load("k-honest").refused("map-invalid");
        world.mode(MAP, 0o600);
        client.load("k-honest").is("honest\n");
        client.end();
        Ok("`map-invalid`".to_owned())
    };
    // There is memory for the server and its calls, but not for such a map.
    of_100_mb: "the map is 100 MB long, with 512 MiB of address space for the server" =>
        "`map-invalid`" = harmed_in(&world().after("ulimit -v 524288"), "map-invalid", |world| {
            let comment = "# 32 bytes of a comment, no more.\n".repeat(3_000_000);
            world.write_map(format!("{HONEST}{comment}"));
        });
    sparse_terabyte: "the map is a sparse file of 1 TiB" =>
        "`map-invalid`" = harmed("map-invalid", |world| {
        let map = fs::File::options().write(true).open(world.map_path());
        map.unwrap().set_len(1 << 40).unwrap();
    });
    of_10_000_keys: "the map has 10,000 keys" =>
        "served: the first and the last key get their files" = {
        let world = world().file("notes/file-0.md", "first").file("notes/file-9999.md", "last");
        let entry = |key| format!("\"k-{key:032}\" = '~/notes/file-{key}.md'\n");
        let mut client = world.client();
        client.load("k-honest").is("honest\n");
        world.replace_map(HONEST.to_owned() + &(0..10_000).map(entry).collect::<String>());
        client.load_at_last(&format!("k-{:032}", 0)).is("first");
        client.load_at_last(&format!("k-{:032}", 9999)).is("last");
        client.load_at_last(&format!("k-{:032}", 10_000)).refused("unknown-key");
        client.load_at_last("k-honest").is("honest\n");
        client.end();
        Ok("served: the first and the last key get their files".to_owned())
    };
    deep_nesting: "the map nests half a million arrays" =>
        "`map-invalid`" = text(format!("{HONEST}x = {}", "[".repeat(500_000)));
    deep_tables: "the map nests a table in a hundred thousand others" =>
        "`map-invalid`" = text(format!("[{}a]\n", "a.".repeat(100_000)));
    not_utf8: "the map is not UTF-8" =>
        "`map-invalid`" = text([HONEST.as_bytes(), b"k-1 = '\xff.md'\n"].concat());
    nul_in_path: "a path in the map holds a NUL" =>
        "`map-invalid`" = text(format!("{HONEST}k-1 = \"~/notes/honest.md\\u0000.txt\"\n"));
    key_twice: "a key stands twice, with two files" =>
        "`map-invalid`" = text(format!("{HONEST}k-honest = '~/notes/other.md'\n"));
    unknown_field: "the map has a field that is not known" =>
        "`map-invalid`" = text(format!("root = ['~']\n{HONEST}"));
    half_written: "the map ends in the middle of a line" =>
        "`map-invalid`" = text(format!("{HONEST}k-1 = '~/no"));
    emptied: "the map is empty" =>
        "`unknown-key`" = harmed("unknown-key", |world| world.write_map(""));
    deleted_in_session: "the key is deleted from the map between two calls" => "`unknown-key`" =
        harmed("unknown-key", |world| world.write_map("[keys]\nk-other = '~/notes/honest.md'\n"));
}

const DIRECTORY: &str = ".config/keyhole";
const MAP: &str = ".config/keyhole/context-map.toml";

const HONEST: &str = "[keys]\nk-honest = '~/notes/honest.md'\n";

/// Another user.
const STRANGER: Option<u32> = Some(54_321);

fn world() -> World {
    World::new().file("notes/honest.md", "honest\n").map(HONEST)
}

fn harmed(code: &str, harm: impl Fn(&World)) -> Outcome {
    harmed_in(&world(), code, harm)
}

/// In one session the map is honest, then hostile through `harm`, then honest again.
fn harmed_in(world: &World, code: &str, harm: impl Fn(&World)) -> Outcome {
    let mut client = world.client();
    client.load("k-honest").is("honest\n");
    for _ in 0..2 {
        harm(world);
        client.load("k-honest").refused(code);
        client.load("k-honest").refused(code);
        fix(world);
        client.load("k-honest").is("honest\n");
    }
    client.end();
    // A server that starts with the hostile map refuses the key too.
    harm(world);
    let mut client = world.client();
    client.load("k-honest").refused(code);
    fix(world);
    client.load("k-honest").is("honest\n");
    // Only of a map that is not there it is said at the start where it would be.
    let said = without_start(&client.ends_saying());
    let is_missing = said.starts_with("keyhole: map-missing: ");
    let is_right = said.is_empty() || code == "map-missing" && is_missing;
    assert!(is_right, "{said}");
    Ok(format!("`{code}`"))
}

/// The map is invalid if it is gone and this is done instead.
fn replaced(harm: impl Fn(&World)) -> Outcome {
    harmed("map-invalid", |world| {
        gone(world);
        harm(world);
    })
}

/// A map with this text.
fn text(text: impl AsRef<[u8]>) -> Outcome {
    harmed("map-invalid", |world| world.write_map(text.as_ref()))
}

/// The map is a link to a link to an honest map of the user's. The second link is in a
/// directory with this mode, and belongs to `owner`.
fn link_in(world: &World, open: u32, owner: Option<u32>) {
    world.write("dotfiles/map.toml", HONEST);
    world.write("public/x", "");
    world.mode("public", open);
    let link = world.path("public/map");
    let _ = fs::remove_file(&link);
    symlink(world.path("dotfiles/map.toml"), &link).unwrap();
    lchown(&link, owner, None).unwrap();
    symlink(&link, world.map_path()).unwrap();
}

/// Replaces the map, whatever it is, by the honest one.
fn fix(world: &World) {
    if geteuid().is_root() {
        chown(world.path(DIRECTORY), Some(0), Some(0)).unwrap();
    }
    world.mode(DIRECTORY, 0o700);
    gone(world);
    world.write_map(HONEST);
}

fn gone(world: &World) {
    let map = world.map_path();
    match fs::symlink_metadata(&map) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(map).unwrap(),
        Ok(_) => fs::remove_file(map).unwrap(),
        Err(_) => {}
    }
}

fn root_only() -> Result<(), &'static str> {
    match geteuid().is_root() {
        true => Ok(()),
        false => Err("only root may give files away"),
    }
}
