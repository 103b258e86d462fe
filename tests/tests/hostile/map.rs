//! A map that was made to do harm, or that somebody else may have written. While it is
//! in place, the server refuses every key; after it is fixed, the same server goes on.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::{PATIENCE, Session, World};
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt as _, chown, lchown, symlink},
        net::UnixListener,
    },
    time::Instant,
};

world_attacks! {
    "A hostile map";
    missing: "there is no map";
    fifo: "the map is a FIFO that nobody writes to";
    directory: "the map is a directory";
    socket: "the map is a socket";
    device: "the map is a link to `/dev/zero`";
    link: "the map is a link to a map of the same user";
    link_to_nothing: "the map is a link to nothing";
    another_users: "the map belongs to another user";
    another_users_directory: "the map's directory belongs to another user";
    link_to_another_users: "the map is a link to one that belongs to another user";
    writable_by_others: "others may write to the map";
    directory_writable_by_others: "others may replace the map";
    link_that_others_may_replace: "the map is reached through a link in a directory that others may write to";
    another_users_link: "the map is reached through a link of another user in `/tmp`'s manner";
    unreadable: "the map may not be read";
    of_100_mb: "the map is 100 MB long, with 500 MB of address space for the server";
    sparse_terabyte: "the map is a sparse file of 1 TiB";
    of_100_000_keys: "the map has 100,000 keys";
    deep_nesting: "the map nests a million arrays";
    deep_tables: "the map nests a table in a hundred thousand others";
    not_utf8: "the map is not UTF-8";
    nul_in_path: "a path in the map holds a NUL";
    key_twice: "a key stands twice, with two files";
    unknown_field: "the map has a field that is not known";
    half_written: "the map ends in the middle of a line";
    emptied: "the map is empty";
    deleted_in_session: "the key is deleted from the map between two calls";
}

const HONEST: &str = "[keys]\nk-honest = '~/notes/honest.md'\n";

fn world() -> World {
    World::new().file("notes/honest.md", "honest\n").map(HONEST)
}

/// In one session the map is honest, then hostile through `harm`, then honest again.
fn harmed(world: &World, code: &str, harm: impl Fn(&World)) -> Outcome {
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
    served(&mut client);
    client.end();
    Ok(format!("`{code}`"))
}

fn served(client: &mut Session) {
    client.load("k-honest").is("honest\n");
}

/// Replaces the map, whatever it is, by the honest one.
fn fix(world: &World) {
    let directory = world.map_path().with_file_name("");
    if geteuid().is_root() {
        chown(&directory, Some(0), Some(0)).unwrap();
    }
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
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

/// The map is invalid if it is gone and this is done instead.
fn replaced(harm: impl Fn(&World)) -> Outcome {
    harmed(&world(), "map-invalid", |world| {
        gone(world);
        harm(world);
    })
}

/// A map with this text.
fn text(text: impl AsRef<[u8]>) -> Outcome {
    harmed(&world(), "map-invalid", |world| {
        world.write_map(text.as_ref())
    })
}

/// Only root may give files away.
fn root_only() -> Result<(), &'static str> {
    match geteuid().is_root() {
        true => Ok(()),
        false => Err("only root may give files away"),
    }
}

fn missing() -> Outcome {
    harmed(&world(), "map-missing", gone)
}

fn fifo() -> Outcome {
    replaced(|world| ground::fifo(&world.map_path()))
}

fn directory() -> Outcome {
    replaced(|world| fs::create_dir(world.map_path()).unwrap())
}

fn socket() -> Outcome {
    replaced(|world| {
        UnixListener::bind(world.map_path()).unwrap();
    })
}

fn device() -> Outcome {
    replaced(|world| symlink("/dev/zero", world.map_path()).unwrap())
}

fn link() -> Outcome {
    let world = world().file("dotfiles/map.toml", HONEST);
    gone(&world);
    symlink(world.path("dotfiles/map.toml"), world.map_path()).unwrap();
    let mut client = world.client();
    served(&mut client);
    client.end();
    Ok("served: what counts is the real file, its owner and its mode".to_owned())
}

fn link_to_nothing() -> Outcome {
    harmed(&world(), "map-missing", |world| {
        gone(world);
        symlink("nothing.toml", world.map_path()).unwrap();
    })
}

fn another_users() -> Outcome {
    root_only()?;
    harmed(&world(), "map-invalid", |world| {
        chown(world.map_path(), Some(12345), None).unwrap();
    })
}

fn another_users_directory() -> Outcome {
    root_only()?;
    harmed(&world(), "map-invalid", |world| {
        chown(world.map_path().with_file_name(""), Some(12345), None).unwrap();
    })
}

fn link_to_another_users() -> Outcome {
    root_only()?;
    replaced(|world| {
        world.write("dotfiles/map.toml", HONEST);
        chown(world.path("dotfiles/map.toml"), Some(12345), None).unwrap();
        symlink(world.path("dotfiles/map.toml"), world.map_path()).unwrap();
    })
}

fn writable_by_others() -> Outcome {
    harmed(&world(), "map-invalid", |world| {
        fs::set_permissions(world.map_path(), Permissions::from_mode(0o666)).unwrap();
    })
}

fn directory_writable_by_others() -> Outcome {
    harmed(&world(), "map-invalid", |world| {
        let directory = world.map_path().with_file_name("");
        fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
    })
}

/// The map and its directory are the user's own, but anybody may replace a link on the
/// way to them.
fn link_that_others_may_replace() -> Outcome {
    replaced(|world| {
        world.write("dotfiles/map.toml", HONEST);
        world.write("public/x", "");
        let link = world.path("public/map");
        let _ = fs::remove_file(&link);
        symlink(world.path("dotfiles/map.toml"), &link).unwrap();
        fs::set_permissions(world.path("public"), Permissions::from_mode(0o777)).unwrap();
        symlink(&link, world.map_path()).unwrap();
    })
}

fn another_users_link() -> Outcome {
    root_only()?;
    replaced(|world| {
        world.write("dotfiles/map.toml", HONEST);
        world.write("public/x", "");
        fs::set_permissions(world.path("public"), Permissions::from_mode(0o1777)).unwrap();
        let link = world.path("public/map");
        let _ = fs::remove_file(&link);
        symlink(world.path("dotfiles/map.toml"), &link).unwrap();
        lchown(&link, Some(12345), None).unwrap();
        symlink(&link, world.map_path()).unwrap();
    })
}

fn unreadable() -> Outcome {
    let world = world();
    fs::set_permissions(world.map_path(), Permissions::from_mode(0o0)).unwrap();
    let world = world.unprivileged();
    let mut client = world.client();
    client.load("k-honest").refused("map-invalid");
    fs::set_permissions(world.map_path(), Permissions::from_mode(0o600)).unwrap();
    served(&mut client);
    client.end();
    Ok("`map-invalid`".to_owned())
}

fn of_100_mb() -> Outcome {
    // Memory for the server and its calls, but not for such a map.
    let limited = "ulimit -v 500000 && exec \"$0\" \"$@\"";
    let world = world().through(["/bin/sh", "-c", limited]);
    let comment = "# 32 bytes of a comment, no more.\n".repeat(3_000_000);
    harmed(&world, "map-invalid", |world| {
        world.write_map(format!("{HONEST}{comment}"));
    })
}

fn sparse_terabyte() -> Outcome {
    harmed(&world(), "map-invalid", |world| {
        let map = fs::File::options()
            .write(true)
            .open(world.map_path())
            .unwrap();
        map.set_len(1 << 40).unwrap();
    })
}

fn of_100_000_keys() -> Outcome {
    let world = world();
    let mut map = HONEST.to_owned();
    for key in 0..100_000 {
        map += &format!("\"k-{key:032}\" = '~/notes/file-{key}.md'\n");
    }
    world.write("notes/file-0.md", "first");
    world.write("notes/file-99999.md", "last");
    let mut client = world.client();
    served(&mut client);
    world.replace_map(map);
    // The first call reads the map, once. In a build that is not optimized, on a
    // busy machine, this may take longer than a call. Then another call succeeds.
    let first = format!("k-{:032}", 0);
    let began = Instant::now();
    while client.load(&first).code() == Some("timed-out") {
        assert!(began.elapsed() < PATIENCE, "never read");
    }
    client.load(&first).is("first");
    client.load(&format!("k-{:032}", 99_999)).is("last");
    client
        .load(&format!("k-{:032}", 100_000))
        .refused("unknown-key");
    served(&mut client);
    client.end();
    Ok("served: the first and the last key get their files".to_owned())
}

fn deep_nesting() -> Outcome {
    text(format!("{HONEST}x = {}", "[".repeat(1_000_000)))
}

fn deep_tables() -> Outcome {
    text(format!("[{}a]\n", "a.".repeat(100_000)))
}

fn not_utf8() -> Outcome {
    text([HONEST.as_bytes(), b"k-1 = '\xff.md'\n"].concat())
}

fn nul_in_path() -> Outcome {
    text(format!("{HONEST}k-1 = \"~/notes/honest.md\\u0000.txt\"\n"))
}

fn key_twice() -> Outcome {
    text(format!("{HONEST}k-honest = '~/notes/other.md'\n"))
}

fn unknown_field() -> Outcome {
    text(format!("root = ['~']\n{HONEST}"))
}

fn half_written() -> Outcome {
    text(format!("{HONEST}k-1 = '~/no"))
}

fn emptied() -> Outcome {
    harmed(&world(), "unknown-key", |world| world.write_map(""))
}

fn deleted_in_session() -> Outcome {
    harmed(&world(), "unknown-key", |world| {
        world.write_map("[keys]\nk-other = '~/notes/honest.md'\n")
    })
}
