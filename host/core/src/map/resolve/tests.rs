//! Whatever the paths say, the walk opens a directory that the map means.
//! `tests/tests/places.rs` and `hostile` have the paths that mean something special.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::locate;
use crate::{
    grant::Grant,
    map::{Key, Location, Map},
};
use keyhole_tree::Tree;
use keyhole_walk::{Handle, System, Walker};
use proptest::prelude::*;
use std::{fs, os::unix::fs::symlink, path::PathBuf};

/// What a path means in a tree that is its user's home.
fn resolve(home: &Tree, roots: &[&str], path: &str) -> Option<Grant> {
    let location = Location::find(Some(&home.map()), |name| {
        (name == "HOME").then(|| home.path("").into())
    });
    let text = format!("roots = {roots:?}\n[keys]\nk = {path:?}");
    let map = Map::parse(text.as_bytes(), &location.unwrap()).unwrap();
    let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
    locate(&Walker::new(System), &map, entry).ok()
}

/// The path of the directory that was opened, as the kernel knows it.
fn place(directory: Handle) -> PathBuf {
    let directory = fs::File::from(directory);
    #[cfg(target_os = "macos")]
    let path = {
        use std::{ffi::OsString, os::unix::ffi::OsStringExt};
        PathBuf::from(OsString::from_vec(
            rustix::fs::getpath(&directory).unwrap().into_bytes(),
        ))
    };
    #[cfg(target_os = "linux")]
    let path = {
        use std::os::fd::AsRawFd;
        fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).unwrap()
    };
    path
}

/// What a random tree contains.
#[derive(Clone, Debug)]
enum Node {
    File,
    Directory,
    Link(String),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "in", "in-side", "x.md", "y.md"])
}

/// A path of a few names, some of them `..`.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![4 => name(), 1 => Just(".."), 1 => Just(".")],
        1..5,
    )
    .prop_map(|names| names.join("/"))
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        Just(Node::File),
        Just(Node::Directory),
        path().prop_map(Node::Link)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_outside_the_roots_is_ever_opened(
        nodes in prop::collection::vec((prop::collection::vec(name(), 1..4), node()), 1..20),
        roots in prop::collection::vec(prop::collection::vec(name(), 0..3), 1..3),
        asked in prop::collection::vec(path(), 1..4),
    ) {
        let home = Tree::empty();
        for (names, node) in &nodes {
            let path = home.path(&format!("t/{}", names.join("/")));
            // Some do not fit into the tree, for instance because there is a file in
            // the way.
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = match node {
                Node::File => fs::write(&path, ""),
                Node::Directory => fs::create_dir_all(&path).and_then(|()| fs::write(path.join("x.md"), "")),
                Node::Link(target) => symlink(target, &path),
            };
        }
        let roots: Vec<String> = roots.iter().map(|names| format!("~/t/{}", names.join("/"))).collect();
        let written: Vec<&str> = roots.iter().map(String::as_str).collect();
        let real: Vec<PathBuf> = roots.iter().filter_map(|root| home.path(&root[2..]).canonicalize().ok()).collect();
        // Every node, whatever is under it, and some paths that lead anywhere.
        let asked = asked.into_iter().chain(nodes.iter().map(|(names, _)| names.join("/")));
        for path in asked.flat_map(|path| [format!("~/t/{path}/x.md"), format!("~/t/{path}/y.md"), format!("~/t/{path}")]) {
            if let Some(resolved) = resolve(&home, &written, &path) {
                let place = place(resolved.directory);
                prop_assert!(real.iter().any(|root| place.ancestors().any(|above| above == root)), "{place:?} is in none of {real:?}");
                prop_assert!(!resolved.name.contains('/'));
                prop_assert!(resolved.name.ends_with(".md"));
            }
        }
    }
}
