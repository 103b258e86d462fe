//! The order in which roots are looked at: the real file system, except for one root
//! whose file system fails.

use super::{super::locate, Home};
use crate::{
    Code,
    map::{Key, Location, Map},
    walk::{Fault, FileSystem, System, Walker, passed_on_tests::pass_on},
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
    let home = Home::with(&["notes/a.md"]);
    let location = Location::find(Some(&home.path("map.toml")), |name| {
        (name == "HOME").then(|| home.path("").into())
    })
    .unwrap();
    let text = "roots = ['~/failing', '~/notes']\n[keys]\nk = '~/notes/a.md'\n";
    let map = Map::parse(text.as_bytes(), &location).unwrap();
    let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
    let (_, name) = locate(&Walker::new(Failing), &map, None, entry).unwrap();
    assert_eq!(name, "a.md");
    // The link leads there by another name, so that the failing root is looked at.
    home.link("link.md", "notes/a.md");
    let text = text.replace("~/notes/a.md", "~/link.md");
    let map = Map::parse(text.as_bytes(), &location).unwrap();
    let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
    let refused = locate(&Walker::new(Failing), &map, None, entry).map(drop);
    assert_eq!(refused, Err(Code::OutOfResources));
}
