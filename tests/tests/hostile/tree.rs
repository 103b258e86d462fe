//! Files that were made to do harm, in a map that the user wrote in good faith. The
//! real program answers.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::World;
use std::{
    fs,
    os::unix::net::UnixListener,
    process::{Command, Stdio},
};

world_attacks! {
    "A hostile tree";
    cve_2025_53109_symlink_escape: "a link in the root leads out of it: to a file, through a directory, and to nothing" =>
        "`outside-root`, `not-markdown`, `not-found`" = {
        let world = world()
            .link("notes/file.md", "../outside.md")
            .link("notes/directory", "../notes-private")
            .link("notes/etc.md", "/etc/passwd")
            .link("notes/dangling.md", "../missing.md");
        refused(world, &[
            ("~/notes/file.md", "outside-root"),
            ("~/notes/directory/secret.md", "outside-root"),
            ("~/notes/etc.md", "not-markdown"),
            ("~/notes/dangling.md", "not-found"),
        ])
    };
    cve_2025_53110_prefix_sibling: "a file in `notes-private`, where the root is `notes`: its own path, and by `..`" =>
        "`outside-root`" = refused(world(), &[
            ("~/notes-private/secret.md", "outside-root"),
            ("~/notes/../notes-private/secret.md", "outside-root"),
            ("~/notes/./../notes-private//secret.md", "outside-root"),
        ]);
    chained_links: "a link in the root leads to a link outside, which leads to a file outside" =>
        "`outside-root`" = {
        let world = world().link("notes/a.md", "../step.md").link("step.md", "outside.md");
        refused(world, &[("~/notes/a.md", "outside-root")])
    };
    link_and_back: "a link leads out of the root, to a link that leads back to a file in it" =>
        "served: what counts is the real file, and that lies in the root" = {
        let world = world().link("notes/a.md", "../step.md").link("step.md", "notes/honest.md");
        read(world, &[("~/notes/a.md", "honest\n")])?;
        Ok("served: what counts is the real file, and that lies in the root".to_owned())
    };
    link_loop: "the name is a link to itself" => "`not-found`" =
        refused(world().link("notes/a.md", "a.md"), &[("~/notes/a.md", "not-found")]);
    hard_link: "the name is a hard link to a file outside the root" =>
        "served: a hard link is the file, which lies here as much as there; on macOS, `untrusted`" = {
        let world = world();
        fs::hard_link(world.path("outside.md"), world.path("notes/a.md")).unwrap();
        match cfg!(target_os = "macos") {
            true => refused(world, &[("~/notes/a.md", "untrusted")])?,
            false => read(world, &[("~/notes/a.md", OUTSIDE)])?,
        };
        Ok("served: a hard link is the file, which lies here as much as there; on macOS, `untrusted`".to_owned())
    };
    fifo: "the name is a FIFO that nobody writes to" => "`not-a-file`" = {
        let world = world();
        ground::fifo(&world.path("notes/a.md"));
        refused(world, &[("~/notes/a.md", "not-a-file")])
    };
    socket: "the name is a socket" => "`not-a-file`" = {
        let world = world();
        let _listener = UnixListener::bind(world.path("notes/a.md")).unwrap();
        refused(world, &[("~/notes/a.md", "not-a-file")])
    };
    device: "the name is a device (`/dev/zero` under another name)" => "`not-a-file`" = {
        let world = world();
        let mut mknod = Command::new("mknod");
        mknod.arg(world.path("notes/a.md")).args(["c", "1", "5"]).stderr(Stdio::null());
        if !mknod.status().is_ok_and(|status| status.success()) {
            return Err("only root may make one, and not everywhere");
        }
        refused(world, &[("~/notes/a.md", "not-a-file")])
    };
    directory: "the name is a directory called `x.md`" => "`not-a-file`" =
        refused(world().directory("notes/x.md"), &[("~/notes/x.md", "not-a-file")]);
    file_as_directory: "the path goes through a file" =>
        "`not-found`" = refused(world(), &[("~/notes/honest.md/x.md", "not-found")]);
    unreadable_file: "the file may not be read" => "`permission-denied`" = {
        let world = world().file("notes/a.md", "shut");
        world.mode("notes/a.md", 0);
        let paths = [("~/notes/a.md", "permission-denied")];
        asked(&mapped(world, &paths).unprivileged(), &paths)
    };
    unreadable_directory: "the file's directory may not be searched" => "`permission-denied`" = {
        let paths = [("~/notes/shut/a.md", "permission-denied")];
        let world = mapped(world().file("notes/shut/a.md", "shut"), &paths).unprivileged();
        world.mode("notes/shut", 0);
        let got = asked(&world, &paths);
        world.mode("notes/shut", 0o700); // it could not be removed otherwise
        got
    };
    writable_by_others: "others may write to the file, to its directory, to one far above, or to one that a link passes; or move a file or link there, as in `/tmp`" =>
        "`untrusted`" = {
        let world = world()
            .file("notes/open.md", "text")
            .file("notes/shared/a.md", "text")
            .file("notes/team/a.md", "text")
            .file("notes/above/b/c/a.md", "text")
            .file("notes/sticky/a.md", "text")
            .link("notes/sticky/link.md", "../honest.md")
            .link("notes/link.md", "shared/../honest.md");
        world.mode("notes/sticky", 0o1777);
        world.mode("notes/open.md", 0o666);
        world.mode("notes/shared", 0o777);
        world.mode("notes/above", 0o757);
        world.mode("notes/team/a.md", 0o664);
        // A group that has no name may be anybody's.
        let file = world.path("notes/team/a.md");
        if std::os::unix::fs::chown(file, None, Some(54_321)).is_err() {
            return Err("only root may give a file to any group");
        }
        refused(world, &[
            ("~/notes/open.md", "untrusted"),
            ("~/notes/shared/a.md", "untrusted"),
            ("~/notes/above/b/c/a.md", "untrusted"),
            ("~/notes/team/a.md", "untrusted"),
            ("~/notes/link.md", "untrusted"),
            ("~/notes/sticky/a.md", "untrusted"),
            ("~/notes/sticky/link.md", "untrusted"),
        ])
    };
    own_directory_in_a_sticky_one: "the file is in a directory that nobody else can move, in one as `/tmp`" =>
        "served: the file of exactly that name" = {
        let world = world().file("notes/sticky/own/a.md", "text");
        world.mode("notes/sticky", 0o1777);
        read(world, &[("~/notes/sticky/own/a.md", "text")])
    };
    deleted_file: "the file was deleted" =>
        "`not-found`" = refused(world(), &[("~/notes/a.md", "not-found")]);
    sparse_terabyte: "the file is a sparse one of 1 TiB" => "`too-large`" = {
        let world = world().file("notes/a.md", "");
        let file = fs::File::options().write(true).open(world.path("notes/a.md")).unwrap();
        file.set_len(1 << 40).unwrap();
        refused(world, &[("~/notes/a.md", "too-large")])
    };
    not_text: "the file is not UTF-8" => "`not-utf8`" =
        refused(world().file("notes/a.md", b"caf\xe9"), &[("~/notes/a.md", "not-utf8")]);
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
fn mapped(world: World, paths: &[(&str, &str)]) -> World {
    let mut map = "roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\n".to_owned();
    for (at, (path, _)) in paths.iter().enumerate() {
        // A string of JSON is also one of TOML.
        map += &format!("k-{at} = {}\n", serde_json::json!(path));
    }
    world.map(map)
}

/// Asks for every path twice, with an honest call after each, and checks that the caller
/// gets the code beside it. Returns the codes as text.
pub(super) fn refused(world: World, paths: &[(&str, &str)]) -> Outcome {
    asked(&mapped(world, paths), paths)
}

/// As [`refused`], for a world that has its map already.
fn asked(world: &World, paths: &[(&str, &str)]) -> Outcome {
    let mut client = world.client();
    for _ in 0..2 {
        for (at, (_, code)) in paths.iter().enumerate() {
            client.load(&format!("k-{at}")).refused(code);
            client.load("k-honest").is("honest\n");
        }
    }
    client.end();
    let mut codes: Vec<_> = paths.iter().map(|(_, code)| format!("`{code}`")).collect();
    codes.dedup();
    Ok(codes.join(", "))
}

/// Asks for every path and checks that each call gets the text beside it.
pub(super) fn read(world: World, paths: &[(&str, &str)]) -> Outcome {
    let world = mapped(world, paths);
    let mut client = world.client();
    for (at, (_, text)) in paths.iter().enumerate() {
        client.load(&format!("k-{at}")).is(text);
        client.load("k-honest").is("honest\n");
    }
    client.end();
    Ok("served: the file of exactly that name".to_owned())
}
