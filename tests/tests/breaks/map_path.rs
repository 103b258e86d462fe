use super::stranger::{self, Flip};
use keyhole_tests::World;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
    process::Command,
};

const KEY: &str = "k-2c1f8a96d0e34b57";
const REVOKED: &str = "k-91c0d2e4f6a8b0c1";

/// Makes a directory of the user's with a map in it, anywhere.
fn map_in(directory: &Path, text: &str) {
    fs::create_dir(directory).unwrap();
    let map = directory.join("map.toml");
    fs::write(&map, text).unwrap();
    for path in [directory, &map] {
        chown(
            path,
            Some(keyhole_tests::NOBODY),
            Some(keyhole_tests::NOBODY),
        )
        .unwrap();
    }
    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&map, Permissions::from_mode(0o600)).unwrap();
}

/// The map's own directory is the user's. The one above it belongs to somebody else, who
/// moves the map's directory away and puts an older copy in its place. This needs no race.
#[test]
fn a_map_below_somebody_elses_directory_is_refused() {
    if !stranger::can_be("a_map_below_somebody_elses_directory_is_refused") {
        return;
    }
    let world = World::new()
        .file("a.md", "a\n")
        .file("private.md", "hunter2");
    let shared = stranger::directory(&world, "shared");
    let a = world.path("a.md").display().to_string();
    let private = world.path("private.md").display().to_string();
    map_in(&shared.join("now"), &format!("[keys]\n{KEY} = '{a}'\n"));
    map_in(
        &shared.join("old"),
        &format!("[keys]\n{KEY} = '{a}'\n{REVOKED} = '{private}'\n"),
    );
    let world = world
        .argument("--map")
        .argument(shared.join("now/map.toml"))
        .unprivileged();

    let mut client = world.client();
    client.load(KEY).refused("map-invalid");
    let flip = Flip::start(shared.join("now"), shared.join("old"));
    for _ in 0..500 {
        client.load(REVOKED).refused("map-invalid");
    }
    drop(flip);
    client.end();
    world
        .run([
            "check".as_ref(),
            "--map".as_ref(),
            shared.join("now/map.toml").as_os_str(),
        ])
        .exits(2)
        .mentions("shared belongs to another user");
}

/// The same with a directory further up, not only the one above the map's.
#[test]
fn a_map_deep_below_a_directory_that_all_may_write_to_is_refused() {
    let world = World::new().file("a.md", "a\n").file(
        "open/b/c/map.toml",
        format!("[keys]\n{KEY} = '../../../a.md'\n"),
    );
    let world = world
        .argument("--map")
        .argument("open/b/c/map.toml")
        .unprivileged();
    let mut client = world.client();
    client.load(KEY).is("a\n");
    let open = world.path("open");
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    client.load(KEY).refused("map-invalid");
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    client.load(KEY).is("a\n");
    client.end();
}

/// A process can have such a name that `/proc/PID/comm` reads as a map. That file
/// belongs to root if the process does, and nobody else writes it.
#[test]
#[cfg(target_os = "linux")]
fn a_map_in_procfs_is_refused() {
    if !stranger::can_be("a_map_in_procfs_is_refused") {
        return;
    }
    let world = World::new().file("a.md", "hunter2");
    let named = world.outside("keys.k='a.md'");
    fs::copy("/bin/sleep", &named).unwrap();
    let mut child = Command::new(&named).arg("600").spawn().unwrap();
    let comm = format!("/proc/{}/comm", child.id());
    // The name is there once the new program runs.
    while fs::read_to_string(&comm).unwrap() != "keys.k='a.md'\n" {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    symlink(&comm, world.path("map.toml")).unwrap();
    let world = world.argument("--map").argument("map.toml").unprivileged();
    let mut client = world.client();
    client.load("k").refused("map-invalid");
    client.end();
    child.kill().unwrap();
    child.wait().unwrap();
    world.run(["check", "--map", "map.toml"]).exits(2);
}
