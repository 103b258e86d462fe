//! Names that were made to do harm, to the program or to its reader.

use super::{
    tree::{read, refused, world},
    world_attacks,
};
use keyhole_tests::World;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

world_attacks! {
    "Hostile names";
    over_long_path: "the path is 5,000 bytes long" => "`not-found`" = {
        let long = format!("~/notes/{}.md", "a".repeat(5000));
        let deep = format!("~/notes/{}a.md", "a/".repeat(2500));
        refused(world(), &[(&long, "not-found"), (&deep, "not-found")])
    };
    control_characters: "the names hold a newline, a tab, an escape sequence and a right-to-left mark" =>
        "served: the file of exactly that name" =
        each_is_itself(&["a\nb.md", "a\tb.md", "\u{1b}[31mred\u{1b}[0m.md", "\u{202e}dm.md", " .md"]);
    look_alikes: "two names that look alike, one with a Cyrillic letter, and one composed and one decomposed" =>
        "served: the file of exactly that name" = {
        if !cfg!(target_os = "linux") {
            return Err("this file system takes composed and decomposed for one");
        }
        each_is_itself(&["scope.md", "s\u{441}ope.md", "caf\u{e9}.md", "cafe\u{301}.md"])
    };
    upper_case_ending: "the names end in `.MD` and `.Md`" =>
        "`not-markdown`" = refused(of(&["a.MD", "b.Md"]), &[
            ("~/notes/a.MD", "not-markdown"),
            ("~/notes/b.Md", "not-markdown"),
        ]);
    trailing_dots_and_blanks: "the names end in `.md.`, `.md ` and `.md/`" =>
        "`not-markdown`" = refused(of(&["a.md.", "a.md "]), &[
            ("~/notes/a.md.", "not-markdown"),
            ("~/notes/a.md ", "not-markdown"),
            ("~/notes/honest.md/", "not-markdown"),
            ("~/notes/honest.md/.", "not-markdown"),
        ]);
    ending_alone: "the name is `.md` alone" =>
        "`not-markdown`" = refused(of(&[".md"]), &[("~/notes/.md", "not-markdown")]);
    backslash: "the name holds a backslash" =>
        "`outside-root`, `not-found`" = refused(of(&["a\\b.md"]), &[
            ("~/notes/a\\b.md", "outside-root"),
            ("~/notes\\..\\outside.md", "not-found"),
        ]);
    name_not_utf8: "a link leads to a file whose name is not UTF-8" => "`not-markdown`" = {
        let world = world();
        let name = OsStr::from_bytes(b"caf\xe9.md");
        if fs::write(world.path("notes").join(name), "a").is_err() {
            return Err("this file system has no such names");
        }
        symlink(name, world.path("notes/a.md")).unwrap();
        refused(world, &[("~/notes/a.md", "not-markdown")])
    };
    directory_not_utf8: "a link leads into a directory whose name is not UTF-8" =>
        "served: the file of exactly that name" = {
        let world = world();
        let name = OsStr::from_bytes(b"caf\xe9");
        let directory = world.path("notes").join(name);
        if fs::create_dir(&directory).is_err() {
            return Err("this file system has no such names");
        }
        fs::write(directory.join("a.md"), "there").unwrap();
        symlink(name, world.path("notes/d")).unwrap();
        read(world, &[("~/notes/d/a.md", "there")])
    };
}

/// A world in which each of these files has its own name as content.
fn of(names: &[&str]) -> World {
    let add = |world: World, name: &&str| world.file(&format!("notes/{name}"), name);
    names.iter().fold(world(), add)
}

fn each_is_itself(names: &[&str]) -> super::Outcome {
    let paths: Vec<_> = names.iter().map(|name| format!("~/notes/{name}")).collect();
    let paths: Vec<_> = paths
        .iter()
        .map(|path| &**path)
        .zip(names.iter().copied())
        .collect();
    read(of(names), &paths)
}
