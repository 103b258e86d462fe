use super::stranger::{self, Flip};
use keyhole_tests::{NOBODY, World};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
};

const KEY: &str = "k-2c1f8a96d0e34b57";
const OTHER: &str = "k-91c0d2e4f6a8b0c1";

/// The key file's own directory is the user's. The one above it belongs to somebody
/// else, who replaces it by a directory with another of the user's keys.
#[test]
fn a_key_file_below_somebody_elses_directory_gives_no_key() {
    if !stranger::can_be("a_key_file_below_somebody_elses_directory_gives_no_key") {
        return;
    }
    let world = World::new()
        .file("a.md", "a\n")
        .file("private.md", "hunter2");
    let shared = stranger::directory(&world, "shared");
    for (name, key) in [("mine", KEY), ("other", OTHER)] {
        let directory = shared.join(name);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("key"), key).unwrap();
        for path in [directory.clone(), directory.join("key")] {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        fs::set_permissions(directory.join("key"), Permissions::from_mode(0o600)).unwrap();
    }
    let world = world
        .map(format!(
            "[keys]\n{KEY} = '~/a.md'\n{OTHER} = '~/private.md'\n[bindings.b]\nkey_file = '{}/mine/key'\n",
            shared.display()
        ))
        .argument("--bind")
        .argument("b")
        .unprivileged();
    let mut client = world.client();
    let load = serde_json::json!({"name": "load_context", "arguments": {}});
    let flip = Flip::start(shared.join("mine"), shared.join("other"));
    for _ in 0..500 {
        client
            .request("tools/call", load.clone())
            .refused("unknown-key");
    }
    drop(flip);
    client.end();
    world
        .run(["check"])
        .exits(1)
        .mentions("shared belongs to another user");
}
