//! How often a call asks the file system. Times vary; these counts do not.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::map::{
    Key, LiveMap, locate,
    tests::{Tree, at},
};
use crate::walk::{
    Fault, FileSystem, Kind, Mount, Stat, System, Walker, tests::passed_on::pass_on,
};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::{File, FileTimes},
    os::fd::OwnedFd,
    rc::Rc,
    time::{Duration, SystemTime},
};

/// The real file system, with a count of each operation.
#[derive(Clone, Default)]
struct Counted(Rc<RefCell<BTreeMap<&'static str, usize>>>);

impl Counted {
    fn one(&self, what: &'static str) {
        *self.0.borrow_mut().entry(what).or_default() += 1;
    }
}

impl FileSystem for Counted {
    type Handle = OwnedFd;
    pass_on!(has_hidden_writers, user, now);

    fn root(&self) -> Result<OwnedFd, Fault> {
        self.one("open");
        System.root()
    }
    fn hold(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        self.one("open");
        System.hold(directory, name)
    }
    fn kind(&self, directory: &OwnedFd, name: &OsStr) -> Result<Kind, Fault> {
        self.one("look");
        System.kind(directory, name)
    }
    fn open(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        self.one("open");
        System.open(directory, name)
    }
    fn stat(&self, handle: &OwnedFd) -> Result<Stat, Fault> {
        self.one("look");
        System.stat(handle)
    }
    fn read_link(&self, link: &OwnedFd, at: &OwnedFd, name: &OsStr) -> Result<OsString, Fault> {
        self.one("read link");
        System.read_link(link, at, name)
    }
    fn mount(&self, handle: &OwnedFd, stat: &Stat) -> Result<Mount, Fault> {
        self.one("mount");
        System.mount(handle, stat)
    }
    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        self.one("read");
        System.read(file, bytes, offset)
    }
    fn settle(&self, file: &OwnedFd) {
        self.one("settle");
        System.settle(file);
    }
    fn pause(&self, time: Duration) {
        self.one("pause");
        System.pause(time);
    }
}

/// The walk to a file under the same directories as the map opens none of them again,
/// and looks at none.
#[test]
fn a_call_opens_each_directory_once_for_map_file_and_roots() {
    let tree = Tree::empty();
    tree.write("a/b/c/notes/a.md", "a");
    let deep = tree.path("a/b/c").canonicalize().unwrap();
    let file = deep.join("map.toml");
    let old = SystemTime::now() - Duration::from_secs(60);
    for (roots, more_opened, more_looks) in [("", 0, 0), ("roots = ['ROOT']\n", 1, 1)] {
        let roots = roots.replace("ROOT", deep.join("notes").to_str().unwrap());
        let text = format!("{roots}[keys]\nk = 'notes/a.md'\n");
        tree.write("a/b/c/map.toml", text);
        let times = FileTimes::new().set_modified(old);
        File::open(&file).unwrap().set_times(times).unwrap();
        let files = Counted::default();
        let live = LiveMap::over(files.clone(), at(&file));
        // Until it is at rest, and known.
        live.current().unwrap();
        files.0.take();
        let (map, trail) = live.current_and_trail().unwrap();
        let directories = deep.components().count();
        let asked = |what| files.0.borrow().get(what).copied().unwrap_or(0);
        // The directories, and the file, whose metadata is read twice more around the
        // reading.
        assert_eq!(
            (asked("open"), asked("look")),
            (directories + 1, directories + 3)
        );
        assert_eq!((asked("read"), asked("settle"), asked("pause")), (2, 1, 0));
        files.0.take();
        let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
        let walker = Walker::new(files.clone());
        locate(&walker, &map, trail.as_ref(), &entry).unwrap();
        // Its own directory, and what kind of file its name is; and each root.
        assert_eq!(
            (asked("open"), asked("look")),
            (1 + more_opened, 2 + more_looks)
        );
        assert_eq!((asked("read link"), asked("mount")), (0, 0));
    }
}
