//! The kernel lets a server read beneath the map's roots, and beneath the map's own directories;
//! and all that users do with such maps and files goes on to work.

use crate::{
    plugin::{call, leave},
    regressions::{STRANGER, can_be_two_users, owned},
    wall::whole,
};
use keyhole_tests::{Session, World, skipped};
use serde_json::json;
use std::{fs, os::unix::fs::symlink, process::Command};

const MAP: &str = ".config/keyhole/context-map.toml";

/// A map with this root, of `k-1` to `notes/a.md`, and of `k-out` to a file elsewhere.
fn rooted(root: &str) -> String {
    format!("roots = ['{root}']\n[keys]\nk-1 = '~/notes/a.md'\nk-out = '~/other/b.md'\n")
}

fn world() -> World {
    World::new()
        .file("notes/a.md", "first")
        .file("other/b.md", "outside")
        .map(rooted("~/notes"))
        // With less than the whole wall, these tests would show nothing.
        .argument("--require-wall")
}

fn rename_over(world: &World, path: &str, text: &str) {
    let new = format!("{path}.new");
    world.write(&new, text);
    fs::rename(world.path(&new), world.path(path)).unwrap();
}

#[test]
fn files_and_map_may_be_saved_in_any_way() {
    let Some(_) = whole() else { return };
    let world = world();
    let mut client = world.client();
    client.load("k-1").is("first");
    world.write("notes/a.md", "in place");
    client.load("k-1").is("in place");
    rename_over(&world, "notes/a.md", "renamed");
    client.load("k-1").is("renamed");
    client.load("k-out").refused("outside-root");
    world.replace_map(rooted("~/notes").replace("k-1", "k-2"));
    client.load("k-1").refused("unknown-key");
    client.load("k-2").is("renamed");
    world.write_map(rooted("~/notes"));
    client.load("k-1").is("renamed");
    fs::remove_dir_all(world.path("notes")).unwrap();
    client.load("k-1").refused("not-found");
    client.end();
}

/// Each with what a user does to the map, which is a link or a chain of them.
#[test]
fn a_map_behind_links_may_be_saved_in_any_way() {
    let Some(_) = whole() else { return };
    let saved = rooted("~/notes").replace("k-1", "k-2");
    let is_live = |place: &str, links: [(&str, &str); 2], save: &dyn Fn(&World)| {
        let [first, second] = links;
        let world = World::new()
            .file("notes/a.md", "first")
            .file(place, rooted("~/notes"))
            .link(first.0, first.1)
            .link(second.0, second.1)
            .argument("--require-wall");
        let mut client = world.client();
        client.load("k-1").is("first");
        save(&world);
        client.load("k-2").is("first");
        client.load("k-1").refused("unknown-key");
        client.end();
    };
    let (map, real) = (MAP, "dotfiles/keyhole/real.toml");
    let chain = [
        ("chain/second.toml", "../dotfiles/keyhole/real.toml"),
        (map, "../../chain/second.toml"),
    ];
    // Some editors put a file in the place of a link.
    for place in [real, "chain/second.toml", map] {
        is_live(real, chain, &|world| rename_over(world, place, &saved));
    }
    is_live(real, chain, &|world| {
        let mut sed = Command::new("sed");
        let sed = sed.args(["-i", "s/k-1/k-2/"]).arg(world.path(map));
        assert!(sed.status().unwrap().success());
    });
    // As Kubernetes mounts a map: all its names lead through one link, which is replaced.
    let at = |name: &str| format!(".config/keyhole/{name}");
    let mounted = [
        (&*at("..data"), "..2026_1"),
        (map, "..data/context-map.toml"),
    ];
    is_live(&at("..2026_1/context-map.toml"), mounted, &|world| {
        world.write(&at("..2026_2/context-map.toml"), &saved);
        symlink("..2026_2", world.path(&at("..data_tmp"))).unwrap();
        fs::rename(world.path(&at("..data_tmp")), world.path(&at("..data"))).unwrap();
    });
}

#[test]
fn links_lead_into_a_root_and_from_one_into_another() {
    let Some(_) = whole() else { return };
    let world = World::new()
        .file("one/a.md", "in one")
        .file("two/b.md", "in two")
        .file("real/c.md", "behind a root that is a link")
        .link("outside/to-one.md", "../one/a.md")
        .link("one/to-two.md", "../two/b.md")
        .link("root", "real")
        .map(
            "roots = ['~/one', '~/two', '~/root']\n[keys]\nk-1 = '~/outside/to-one.md'\n\
             k-2 = '~/one/to-two.md'\nk-3 = '~/root/c.md'\nk-4 = '~/real/c.md'\n",
        )
        .argument("--require-wall");
    let mut client = world.client();
    client.load("k-1").is("in one");
    client.load("k-2").is("in two");
    client.load("k-3").is("behind a root that is a link");
    client.load("k-4").is("behind a root that is a link");
    client.end();
    let home = world.map(rooted("~/")).file("notes/a.md", "in the home");
    home.load("k-1").is("in the home");
}

/// Who is in a group is read at the start: behind the wall nobody can ask. It counts for the
/// map, for a file, for a root, for tickets and for `check`.
#[test]
fn a_group_of_the_user_alone_may_write() {
    let Some(_) = whole() else { return };
    let plain = World::new().with_k1("first");
    plain.mode("1.md", 0o664);
    if plain.load("k-1").code().is_some() {
        return skipped("this user's group is not his alone");
    }
    let world = world().plugin_data();
    for (path, mode) in [
        ("notes/a.md", 0o664),
        ("notes", 0o775),
        (".config/keyhole", 0o775),
        (".config/keyhole/context-map.toml", 0o664),
        ("data", 0o775),
    ] {
        world.mode(path, mode);
    }
    world.load("k-1").is("first");
    let checked = world.run(["check", "--json"]).json();
    assert_eq!(checked["entries"][0]["ok"], true, "{checked}");
    let data = world.path("data");
    let world = world.argument("--require-ticket");
    let mut client = world.client();
    leave(&data, "toolu_1", "reader");
    call(&mut client, json!({ "key": "k-1" }), "toolu_1").is("first");
    // The folder of tickets may be made again.
    fs::remove_dir_all(data.join("tickets")).unwrap();
    leave(&data, "toolu_2", "reader");
    call(&mut client, json!({ "key": "k-1" }), "toolu_2").is("first");
    // So may the whole data folder, but then the kernel holds another one.
    fs::rename(&data, world.path("data-before")).unwrap();
    fs::create_dir(&data).unwrap();
    leave(&data, "toolu_3", "reader");
    call(&mut client, json!({ "key": "k-1" }), "toolu_3").refused("restart-needed");
    client.end();
}

/// What the kernel does not let a server read, and its user may.
fn after(change: impl Fn(&World)) -> (World, Session) {
    let world = world();
    let mut client = world.client();
    client.load("k-1").is("first");
    change(&world);
    (world, client)
}

#[test]
fn what_is_not_what_it_was_at_the_start_needs_a_restart() {
    let Some(_) = whole() else { return };
    let new_root = rooted("~/notes").replace("['~/notes']", "['~/notes', '~/other']");
    let no_root = rooted("~/notes").replace("roots = ['~/notes']\n", "");
    let moved = |world: &World| {
        fs::rename(world.path("notes"), world.path("before")).unwrap();
        world.write("notes/a.md", "second");
    };
    let map_moved = |world: &World| {
        fs::rename(world.path(".config"), world.path("config-before")).unwrap();
        world.write_map(rooted("~/notes"));
    };
    let got = |world: &World| world.replace_map(&new_root);
    let lost = |world: &World| world.replace_map(&no_root);
    type Change<'a> = &'a dyn Fn(&World);
    let changes: [(&str, Change<'_>, &str); 4] = [
        ("a root that the map got", &got, "k-out"),
        ("roots that the map lost", &lost, "k-out"),
        ("a root that was made again", &moved, "k-1"),
        ("a map in a folder that was made again", &map_moved, "k-1"),
    ];
    for (what, change, key) in changes {
        let (world, mut client) = after(change);
        let answer = client.load(key);
        let said = answer.message().to_string();
        assert_eq!(answer.code(), Some("restart-needed"), "{what}: {said}");
        assert!(said.contains("/mcp"), "{said}");
        client.end();
        // A check starts afresh, and so does another server.
        let checked = world.run(["check", "--json"]).json();
        let line = if key == "k-1" { 0 } else { 1 };
        assert_eq!(checked["entries"][line]["ok"], true, "{what}: {checked}");
        if what.contains("lost") {
            world.write_map(&new_root);
        }
        assert!(world.load(key).code().is_none(), "{what}");
    }
}

/// The kernel would let the server read all of what they choose.
#[test]
fn a_root_that_others_could_choose_at_the_start_needs_a_restart() {
    let Some(_) = whole() else { return };
    for (root, open) in [
        ("shared/notes", "shared"),
        ("shared/link", "shared"),
        ("shared/notes", "shared/notes"),
    ] {
        let world = World::new()
            .file("shared/notes/a.md", "first")
            .link("shared/link", "notes")
            .map(format!(
                "roots = ['~/{root}']\n[keys]\nk-1 = '~/{root}/a.md'\n"
            ));
        world.mode(open, 0o777);
        let mut client = world.client();
        client.load("k-1").refused("untrusted");
        world.mode(open, 0o755);
        client.load("k-1").refused("restart-needed");
        client.end();
        world.load("k-1").is("first");
    }
}

/// In a sticky folder, nobody can replace what is there, but the first who comes can make it.
#[test]
fn a_root_that_another_user_made_first_needs_a_restart() {
    let Some(_) = whole() else { return };
    if !can_be_two_users() {
        return;
    }
    let world = World::new()
        .file("shared/notes/a.md", "first")
        .map("roots = ['~/shared/notes']\n[keys]\nk-1 = '~/shared/notes/a.md'\n");
    world.mode("shared", 0o1777);
    let root = world.path("shared/notes");
    owned(&root, STRANGER, 0o755);
    let mut client = world.client();
    client.load("k-1").refused("untrusted");
    owned(&root, 0, 0o755);
    client.load("k-1").refused("restart-needed");
    client.end();
}

/// The kernel lets the server read all of the folder that a map is in.
#[test]
fn check_warns_of_a_map_without_roots_and_of_one_that_lies_in_the_home() {
    let (none, home) = ("the map has no roots", "directly in your home");
    for (place, map, says) in [
        ("maps/map.toml", "[keys]\n", &[none][..]),
        ("maps/map.toml", "roots = ['/srv']\n", &[]),
        ("map.toml", "roots = ['/srv']\n", &[home]),
    ] {
        let world = World::new().file(place, map);
        let ran = world.run(["check", "--map", place]).exits(0);
        for warning in [none, home] {
            let is_said = ran.stdout.contains(warning);
            assert_eq!(is_said, says.contains(&warning), "{place} {map} {ran:#?}");
        }
    }
}
