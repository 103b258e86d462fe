//! Where the map is, and where its files are.

use keyhole_tests::{MARKER, World, skipped};
use std::os::unix::fs::chown;

fn world() -> World {
    World::new().file("1.md", "one")
}

#[track_caller]
fn serves(world: &World) {
    world.load("k-1").is("one");
}

#[test]
fn a_named_map_needs_no_environment() {
    let world = world().file("m.toml", "[keys]\nk-1 = '1.md'\n").homeless();
    serves(&world.argument("--map=m.toml"));
}

#[test]
fn a_relative_path_belongs_to_the_maps_directory_and_not_to_the_one_that_a_link_leads_to() {
    for (file, path) in [
        (".config/keyhole/team/1.md", "team/1.md"),
        (".config/1.md", "../1.md"),
    ] {
        let map = format!("[keys]\nk-1 = '{path}'\n");
        serves(&World::new().file(file, "one").map(&map));
        let linked = World::new()
            .file(file, "one")
            .file("stores/store/map.toml", map)
            .file("stores/store/team/1.md", MARKER)
            .file("stores/1.md", MARKER)
            .link(
                ".config/keyhole/context-map.toml",
                "../../stores/store/map.toml",
            );
        serves(&linked);
    }
}

/// The path of the real file counts.
#[test]
fn each_path_and_each_root_leads_where_the_map_means_or_nowhere() {
    let world = World::new()
        .file("notes/a.md", "a")
        .file("notes/deep/b.md", "b")
        .file("secret.txt", MARKER)
        .link("list", "notes/a.md")
        .link("root.md", "/")
        .link("text.md", "secret.txt")
        .link("open/root", "../notes")
        .map("");
    let absolute = world.path("notes/a.md");
    let mut client = world.client();
    let mut gets = |roots: &str, path: &str, gets: Result<&str, &str>| {
        let roots = match roots {
            "" => String::new(),
            roots => format!("roots = [{roots}]\n"),
        };
        world.write_map(format!("{roots}[keys]\nk-1 = '{path}'\n"));
        let answer = client.load("k-1");
        match gets {
            Ok(text) => answer.is(text),
            Err(code) => answer.refused(code),
        }
    };
    for (roots, path, got) in [
        ("", "~//notes/a.md", Ok("a")),
        ("", absolute.to_str().unwrap(), Ok("a")),
        // The name in the map must end in .md, and not only the real file's.
        ("", "~/list", Err("not-markdown")),
        ("", "~/text.md", Err("not-markdown")),
        ("", "~/none", Err("not-markdown")),
        ("", "~/none/a.md", Err("not-found")),
        ("", "~/root.md", Err("not-a-file")),
        ("'~/notes/deep'", "~/notes/a.md", Err("outside-root")),
        ("'~/notes/deep', '~/'", "~/notes/a.md", Ok("a")),
        ("'~/gone', '~/notes'", "~/notes/deep/b.md", Ok("b")),
        ("'~/gone'", "~/notes/a.md", Err("outside-root")),
        // A file is no root.
        ("'~/notes/a.md'", "~/notes/a.md", Err("outside-root")),
        // If a root is a link, it means the directory that the link leads to.
        ("'~/open/root'", "~/notes/a.md", Ok("a")),
        ("'~/open/root'", "~/open/root/a.md", Ok("a")),
    ] {
        gets(roots, path, got);
    }
    // Others could have put another root there. The other roots still hold their files.
    world.mode("open", 0o777);
    gets("'~/open/root'", "~/notes/a.md", Err("outside-root"));
    gets("'~/open/root', '~/notes'", "~/notes/a.md", Ok("a"));
    client.end();
}

/// Not every macOS can hold such a directory.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_may_be_searched_but_not_listed_will_do() {
    let world = world()
        .file("quiet/real.md", "one")
        .link("quiet/link.md", "../quiet/real.md")
        .map("roots = ['~/quiet']\n[keys]\nk-1 = '~/quiet/link.md'\n")
        .unprivileged();
    world.mode("quiet", 0o300);
    serves(&world);
    // It could not be removed otherwise.
    world.mode("quiet", 0o700);
}

/// Only a file's owner may ask that reading does not change the access time.
#[test]
fn a_file_of_another_user_that_may_be_read_is_served() {
    let world = World::new().with_k1("one").unprivileged();
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can give a file away");
    }
    let file = world.path("1.md");
    world.mode("1.md", 0o644);
    chown(file, Some(0), Some(0)).unwrap();
    serves(&world);
}
