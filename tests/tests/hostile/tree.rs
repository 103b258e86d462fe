//! Files that were made to do harm, in a map that the user wrote in good faith. The
//! real program answers.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::{Session, World};
use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    process::{Command, Stdio},
};

world_attacks! {
    "A hostile tree";
    cve_2025_53109_symlink_escape: "a link in the root leads out of it: to a file, through a directory, and to nothing";
    cve_2025_53110_prefix_sibling: "a file in `notes-private`, where the root is `notes`: its own path, and by `..`";
    chained_links: "a link in the root leads to a link outside, which leads to a file outside";
    link_and_back: "a link leads out of the root, to a link that leads back to a file in it";
    link_loop: "the name is a link to itself";
    hard_link: "the name is a hard link to a file outside the root";
    fifo: "the name is a FIFO that nobody writes to";
    socket: "the name is a socket";
    device: "the name is a device (`/dev/zero` under another name)";
    directory: "the name is a directory called `x.md`";
    file_as_directory: "the path goes through a file";
    unreadable_file: "the file may not be read";
    unreadable_directory: "the file's directory may not be searched";
    deleted_file: "the file was deleted";
    sparse_terabyte: "the file is a sparse one of 1 TiB";
    not_text: "the file is not UTF-8";
}

/// The content of everything outside the root.
const OUTSIDE: &str = "hunter2, from outside";

/// A root with an honest file in it and, outside of it, what must not be served.
pub(super) fn world() -> World {
    World::new()
        .file("notes/honest.md", "honest\n")
        .file("notes-private/secret.md", OUTSIDE)
        .file("outside.md", OUTSIDE)
}

/// Adds a map of these paths as `k-0`, `k-1` and so on.
pub(super) fn mapped(world: World, paths: &[&str]) -> World {
    let mut map = "roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\n".to_owned();
    for (at, path) in paths.iter().enumerate() {
        // A string of JSON is also one of TOML.
        map += &format!("k-{at} = {}\n", serde_json::json!(path));
    }
    world.map(map)
}

/// Asserts that the honest call is served.
pub(super) fn served(client: &mut Session) {
    client.load("k-honest").is("honest\n");
}

/// Asks for every path of `paths` twice, with an honest call after each, and
/// checks that the caller gets `codes`. Returns them as text.
pub(super) fn refused(world: World, paths: &[&str], codes: &[&str]) -> Outcome {
    assert_eq!(paths.len(), codes.len());
    let world = mapped(world, paths);
    asked(&world, codes)
}

/// As [`refused`], for a world that has its map already.
fn asked(world: &World, codes: &[&str]) -> Outcome {
    let mut client = world.client();
    for _ in 0..2 {
        for (at, code) in codes.iter().enumerate() {
            client.load(&format!("k-{at}")).refused(code);
            served(&mut client);
        }
    }
    client.end();
    let mut codes = codes.to_vec();
    codes.dedup();
    Ok(codes
        .iter()
        .map(|code| format!("`{code}`"))
        .collect::<Vec<_>>()
        .join(", "))
}

/// Asks for every path of `paths` and checks that each call gets the file there.
pub(super) fn read(world: World, paths: &[&str], texts: &[&str]) -> Outcome {
    assert_eq!(paths.len(), texts.len());
    let world = mapped(world, paths);
    let mut client = world.client();
    for (at, text) in texts.iter().enumerate() {
        client.load(&format!("k-{at}")).is(text);
        served(&mut client);
    }
    client.end();
    Ok("served: the file of exactly that name".to_owned())
}

fn cve_2025_53109_symlink_escape() -> Outcome {
    let world = world()
        .link("notes/file.md", "../outside.md")
        .link("notes/directory", "../notes-private")
        .link("notes/etc.md", "/etc/passwd")
        .link("notes/dangling.md", "../missing.md");
    let paths = [
        "~/notes/file.md",
        "~/notes/directory/secret.md",
        "~/notes/etc.md",
        "~/notes/dangling.md",
    ];
    refused(
        world,
        &paths,
        &["outside-root", "outside-root", "not-markdown", "not-found"],
    )
}

fn cve_2025_53110_prefix_sibling() -> Outcome {
    let paths = [
        "~/notes-private/secret.md",
        "~/notes/../notes-private/secret.md",
        "~/notes/./../notes-private//secret.md",
    ];
    refused(world(), &paths, &["outside-root"; 3])
}

fn chained_links() -> Outcome {
    let world = world()
        .link("notes/chain.md", "../step.md")
        .link("step.md", "outside.md");
    refused(world, &["~/notes/chain.md"], &["outside-root"])
}

fn link_and_back() -> Outcome {
    let world = world()
        .link("notes/back.md", "../step.md")
        .link("step.md", "notes/honest.md");
    read(world, &["~/notes/back.md"], &["honest\n"])
        .map(|_| "served: what counts is the real file, and that lies in the root".to_owned())
}

fn link_loop() -> Outcome {
    refused(
        world().link("notes/a.md", "a.md"),
        &["~/notes/a.md"],
        &["not-found"],
    )
}

fn hard_link() -> Outcome {
    let world = world();
    fs::hard_link(world.path("outside.md"), world.path("notes/hard.md")).unwrap();
    read(world, &["~/notes/hard.md"], &[OUTSIDE])
        .map(|_| "served: a hard link is the file, which lies here as much as there".to_owned())
}

fn fifo() -> Outcome {
    let world = world();
    ground::fifo(&world.path("notes/a.md"));
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn socket() -> Outcome {
    let world = world();
    let _listener = UnixListener::bind(world.path("notes/a.md")).unwrap();
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn device() -> Outcome {
    let world = world();
    let made = Command::new("mknod")
        .arg(world.path("notes/a.md"))
        .args(["c", "1", "5"])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("only root may make one, and not everywhere");
    }
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn directory() -> Outcome {
    refused(
        world().directory("notes/x.md"),
        &["~/notes/x.md"],
        &["not-a-file"],
    )
}

fn file_as_directory() -> Outcome {
    refused(world(), &["~/notes/honest.md/x.md"], &["not-found"])
}

fn unreadable_file() -> Outcome {
    let world = world().file("notes/a.md", "shut");
    fs::set_permissions(world.path("notes/a.md"), Permissions::from_mode(0o0)).unwrap();
    asked(
        &mapped(world, &["~/notes/a.md"]).unprivileged(),
        &["permission-denied"],
    )
}

fn unreadable_directory() -> Outcome {
    let world = mapped(
        world().file("notes/shut/a.md", "shut"),
        &["~/notes/shut/a.md"],
    )
    .unprivileged();
    let set_mode = |mode| {
        let shut = world.path("notes/shut");
        fs::set_permissions(shut, Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0);
    let got = asked(&world, &["permission-denied"]);
    set_mode(0o700); // it could not be removed otherwise
    got
}

fn deleted_file() -> Outcome {
    refused(world(), &["~/notes/a.md"], &["not-found"])
}

fn sparse_terabyte() -> Outcome {
    let world = world().file("notes/a.md", "");
    let file = fs::File::options()
        .write(true)
        .open(world.path("notes/a.md"))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    refused(world, &["~/notes/a.md"], &["too-large"])
}

fn not_text() -> Outcome {
    refused(
        world().file("notes/a.md", b"caf\xe9"),
        &["~/notes/a.md"],
        &["not-utf8"],
    )
}
