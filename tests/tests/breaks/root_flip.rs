use super::stranger::{self, Flip};
use keyhole_tests::World;
use std::{fs, os::unix::fs::symlink};

const KEY: &str = "k-2c1f8a96d0e34b57";
const HONEST: &str = "k-91c0d2e4f6a8b0c1";
const DIARY: &str = "hunter2, from the diary";

/// The root's name alternates between two meanings: a directory whose `a.md` is a link
/// to a private file, and a link to the home that contains this file. A program that
/// looks up the file at one moment and the root at another finds the file in the root.
#[test]
fn a_root_that_others_can_swap_holds_nothing() {
    if !stranger::can_be("a_root_that_others_can_swap_holds_nothing") {
        return;
    }
    let world = World::new()
        .file("diary.md", DIARY)
        .file("honest.md", "honest\n");
    let shared = stranger::directory(&world, "shared");
    let map = format!(
        "roots = ['{0}/root']\n[keys]\n{KEY} = '{0}/root/a.md'\n{HONEST} = '~/honest.md'\n",
        shared.display()
    );
    let world = world.map(map).unprivileged();
    let (root, other) = (shared.join("root"), shared.join("other"));
    fs::create_dir(&root).unwrap();
    symlink(world.path("diary.md"), root.join("a.md")).unwrap();
    symlink(world.home(), &other).unwrap();
    std::os::unix::fs::lchown(root.join("a.md"), Some(stranger::STRANGER), None).unwrap();
    std::os::unix::fs::lchown(&other, Some(stranger::STRANGER), None).unwrap();
    stranger::give(&root);

    let mut client = world.client();
    let flip = Flip::start(root, other);
    for _ in 0..3000 {
        client.load(KEY).refused("outside-root");
    }
    drop(flip);
    // A file outside all roots is refused; without roots, it is served.
    client.load(HONEST).refused("outside-root");
    world.write_map(format!("[keys]\n{HONEST} = '~/honest.md'\n"));
    client.load(HONEST).is("honest\n");
    client.end();
}

/// The same with links that the user made: then the file is where the map says, but
/// the root still cannot be trusted, and `check` says what to do about it.
#[test]
fn check_names_the_directory_above_a_root_that_others_can_write_to() {
    if !stranger::can_be("check_names_the_directory_above_a_root_that_others_can_write_to") {
        return;
    }
    let world = World::new();
    let shared = stranger::directory(&world, "shared");
    let root = shared.join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.md"), "a\n").unwrap();
    let world = world
        .map(format!(
            "roots = ['{0}']\n[keys]\n{KEY} = '{0}/a.md'\n",
            root.display()
        ))
        .unprivileged();
    world
        .run(["check"])
        .exits(1)
        .mentions("outside-root")
        .mentions("shared belongs to another user");
}
