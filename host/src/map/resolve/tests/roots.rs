//! The order in which roots are looked at: the real file system, except for one root
//! whose file system fails.

use super::super::locate;
use crate::{
    code::Code,
    map::{Key, Map, tests::Tree},
    walk::{Fault, FileSystem, System, Walker, tests::passed_on::pass_on},
};
use std::{ffi::OsStr, os::fd::OwnedFd};

struct Failing;

impl FileSystem for Failing {
    type Handle = OwnedFd;
    pass_on!(
        root,
        open,
        stat,
        read_link,
        mount,
        has_hidden_writers,
        read,
        settle,
        user,
        now,
        pause
    );

    fn hold(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        match name == "failing" {
            true => Err(Fault::OutOfResources),
            false => System.hold(directory, name),
        }
    }
}

#[test]
fn a_root_that_fails_costs_only_its_own_files() {
    let home = Tree::of(&["notes/a.md"]);
    // The link leads there by another name, so that the failing root is looked at.
    home.link("link.md", "notes/a.md");
    for (path, found) in [
        ("~/notes/a.md", Ok("a.md")),
        ("~/link.md", Err(Code::OutOfResources)),
    ] {
        let text = format!("roots = ['~/failing', '~/notes']\n[keys]\nk = '{path}'\n");
        let map = Map::parse(text.as_bytes(), &home.location_at_home()).unwrap();
        let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
        let located = locate(&Walker::new(Failing), &map, None, &entry);
        assert_eq!(located.map(|(_, name)| name), found.map(str::to_owned));
    }
}
