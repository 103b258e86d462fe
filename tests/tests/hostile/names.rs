//! Names that were made to do harm, to the program or to its reader.

use super::{
    Outcome,
    tree::{read, refused, world},
    world_attacks,
};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

world_attacks! {
    "Hostile names";
    over_long_path: "the path is 5,000 bytes long";
    control_characters: "the names hold a newline, a tab, an escape sequence and a right-to-left mark";
    look_alikes: "two names that look alike, one with a Cyrillic letter, and one composed and one decomposed";
    upper_case_ending: "the names end in `.MD` and `.Md`";
    trailing_dots_and_blanks: "the names end in `.md.`, `.md ` and `.md/`";
    ending_alone: "the name is `.md` alone";
    backslash: "the name holds a backslash";
    name_not_utf8: "a link leads to a file whose name is not UTF-8";
    directory_not_utf8: "a link leads into a directory whose name is not UTF-8";
}

fn over_long_path() -> Outcome {
    let long = format!("~/notes/{}.md", "a".repeat(5000));
    let deep = format!("~/notes/{}a.md", "a/".repeat(2500));
    refused(world(), &[&long, &deep], &["not-found"; 2])
}

fn control_characters() -> Outcome {
    let names = [
        "a\nb.md",
        "a\tb.md",
        "\u{1b}[31mred\u{1b}[0m.md",
        "\u{202e}dm.md",
        " .md",
    ];
    let world = names.iter().fold(world(), |world, name| {
        world.file(&format!("notes/{name}"), name)
    });
    let paths = names.map(|name| format!("~/notes/{name}"));
    read(world, &paths.each_ref().map(|path| &**path), &names)
}

fn look_alikes() -> Outcome {
    let names = [
        "scope.md",
        "s\u{441}ope.md",
        "caf\u{e9}.md",
        "cafe\u{301}.md",
    ];
    if !cfg!(target_os = "linux") {
        return Err("this file system takes composed and decomposed for one");
    }
    let world = names.iter().fold(world(), |world, name| {
        world.file(&format!("notes/{name}"), name)
    });
    let paths = names.map(|name| format!("~/notes/{name}"));
    read(world, &paths.each_ref().map(|path| &**path), &names)
}

fn upper_case_ending() -> Outcome {
    let world = world().file("notes/a.MD", "a").file("notes/b.Md", "b");
    refused(
        world,
        &["~/notes/a.MD", "~/notes/b.Md"],
        &["not-markdown"; 2],
    )
}

fn trailing_dots_and_blanks() -> Outcome {
    let world = world().file("notes/a.md.", "a").file("notes/a.md ", "a");
    let paths = [
        "~/notes/a.md.",
        "~/notes/a.md ",
        "~/notes/honest.md/",
        "~/notes/honest.md/.",
    ];
    refused(world, &paths, &["not-markdown"; 4])
}

fn ending_alone() -> Outcome {
    refused(
        world().file("notes/.md", "a"),
        &["~/notes/.md"],
        &["not-markdown"],
    )
}

fn backslash() -> Outcome {
    let world = world().file("notes/a\\b.md", "a");
    refused(
        world,
        &["~/notes/a\\b.md", "~/notes\\..\\outside.md"],
        &["outside-root", "not-found"],
    )
}

fn name_not_utf8() -> Outcome {
    let world = world();
    let name = OsStr::from_bytes(b"caf\xe9.md");
    if fs::write(world.path("notes").join(name), "a").is_err() {
        return Err("this file system has no such names");
    }
    symlink(name, world.path("notes/a.md")).unwrap();
    refused(world, &["~/notes/a.md"], &["not-markdown"])
}

fn directory_not_utf8() -> Outcome {
    let world = world();
    let name = OsStr::from_bytes(b"caf\xe9");
    let directory = world.path("notes").join(name);
    if fs::create_dir(&directory).is_err() {
        return Err("this file system has no such names");
    }
    fs::write(directory.join("a.md"), "there").unwrap();
    symlink(name, world.path("notes/d")).unwrap();
    read(world, &["~/notes/d/a.md"], &["there"])
}
