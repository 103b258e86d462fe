//! In which order roots are looked at: the real file system, but for one root whose
//! file system fails.

use super::{super::locate, Home};
use crate::{
    Code,
    map::{Key, Location, Map},
    walk::{Fault, FileSystem, Mount, Stat, System, Walker},
};
use std::{
    ffi::{OsStr, OsString},
    os::fd::OwnedFd,
    time::{Duration, SystemTime},
};

struct Failing;

impl FileSystem for Failing {
    type Handle = OwnedFd;

    fn root(&self) -> Result<OwnedFd, Fault> {
        System.root()
    }
    fn hold(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        match name == "failing" {
            true => Err(Fault::OutOfResources),
            false => System.hold(directory, name),
        }
    }
    fn open(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        System.open(directory, name)
    }
    fn stat(&self, handle: &OwnedFd) -> Result<Stat, Fault> {
        System.stat(handle)
    }
    fn read_link(&self, link: &OwnedFd, at: &OwnedFd, name: &OsStr) -> Result<OsString, Fault> {
        System.read_link(link, at, name)
    }
    fn mount(&self, handle: &OwnedFd, stat: &Stat) -> Result<Mount, Fault> {
        System.mount(handle, stat)
    }
    fn has_hidden_writers(&self, handle: &OwnedFd, stat: &Stat) -> Result<bool, Fault> {
        System.has_hidden_writers(handle, stat)
    }
    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        System.read(file, bytes, offset)
    }
    fn settle(&self, file: &OwnedFd) {
        System.settle(file);
    }
    fn user(&self) -> u32 {
        System.user()
    }
    fn now(&self) -> SystemTime {
        System.now()
    }
    fn pause(&self, time: Duration) {
        System.pause(time);
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
