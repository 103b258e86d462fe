//! A frozen map does not change; the files that it names do.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Directories, FreezeError, FrozenMap, look_at};
use crate::{
    code::Code,
    grant::Grant,
    limits::Limits,
    map::{BindingName, Key, Maps as _, tests::live},
};
use cap_std::{ambient_authority, fs::Dir};
use keyhole_tree::Tree;
use std::{collections::BTreeSet, fs, sync::Arc, time::Duration};

const MAP: &str = "[keys]\na = 'one/a.md'\nb = 'one/b.md'\nc = 'two/c.md'\nd = 'two/d.md'\n";

/// A map, and files `a.md` and `b.md` in the directory `one`, `c.md` in `two`.
fn tree() -> Tree {
    let tree = Tree::of(&["one/a.md", "one/b.md", "two/c.md"]);
    tree.write("map.toml", MAP);
    tree
}

fn freeze(tree: &Tree, binding: Option<&BindingName>) -> FrozenMap {
    let live = Arc::new(live(tree));
    // Whatever waits longer than it must waits for an hour.
    let limits = Limits {
        deadline: Duration::from_secs(3600),
        ..Limits::default()
    };
    FrozenMap::freeze(&live, binding, &mut BTreeSet::new(), limits).unwrap()
}

fn grant(frozen: &FrozenMap, key: &str) -> Result<Grant, Code> {
    let key = Key::try_from(key).unwrap();
    frozen.resolve(frozen.map(), &key, frozen.map().find(&key).unwrap())
}

/// The content of the granted file now.
fn read(frozen: &FrozenMap, key: &str) -> String {
    let grant = grant(frozen, key).unwrap();
    grant.directory.read_to_string(&grant.name).unwrap()
}

#[test]
fn each_file_that_is_there_is_found_and_never_one_in_another_directory_of_that_name() {
    let tree = tree();
    let frozen = freeze(&tree, None);
    let held: BTreeSet<_> = frozen.directories().map(std::ptr::from_ref).collect();
    assert_eq!(held.len(), 2);
    fs::rename(tree.path("one"), tree.path("moved")).unwrap();
    tree.write("one/a.md", "another");
    for (key, text) in [("a", "one/a.md"), ("b", "one/b.md"), ("c", "two/c.md")] {
        assert_eq!(read(&frozen, key), text);
    }
    tree.write("two/d.md", "late");
    assert_eq!(grant(&frozen, "d").unwrap_err(), Code::NotFound);
}

#[test]
fn more_directories_than_can_be_held_are_refused_with_their_number() {
    let tree = tree();
    let open = |name| {
        let directory = Dir::open_ambient_dir(tree.path(name), ambient_authority());
        look_at(directory.unwrap()).unwrap()
    };
    let mut directories = Directories {
        most: 1,
        ..Directories::new(Limits::default())
    };
    let first = directories.keep(open("one")).unwrap();
    assert!(Arc::ptr_eq(&first, &directories.keep(open("one")).unwrap()));
    let refused = directories.keep(open("two"));
    assert!(matches!(refused, Err(FreezeError::TooManyDirectories(1))));
}

#[test]
fn descriptors_are_left_for_all_calls_that_may_run() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let left = |running, slow| {
        let limits = Limits {
            running,
            slow,
            ..Limits::default()
        };
        Directories::new(limits).most
    };
    let limit = usize::try_from(limit.unwrap()).unwrap();
    assert_eq!(left(0, 0), limit - super::DESCRIPTORS_BESIDES);
    assert_eq!(left(0, 0) - left(3, 4), 7 * super::DESCRIPTORS_PER_CALL);
    assert_eq!(left(usize::MAX / 16, 0), 0);
    assert!(Directories::new(Limits::default()).most > 0);
}

#[test]
fn for_a_binding_no_directory_is_held_but_its_own() {
    let tree = tree();
    let bindings = "[bindings.only]\nkey = 'c'\n[bindings.gone]\nkey = 'z'\n[bindings.env]\nkey_env = 'KEYHOLE_TEST_UNSET'\n";
    tree.write("map.toml", format!("{MAP}{bindings}"));
    let [only, gone, env, none] =
        ["only", "gone", "env", "none"].map(|name| BindingName::try_from(name).unwrap());
    let frozen = freeze(&tree, Some(&only));
    assert_eq!(frozen.directories().count(), 1);
    let key = frozen.bound(frozen.map(), &only);
    assert_eq!(key, Ok(Key::try_from("c").unwrap()));
    assert_eq!(frozen.bound(frozen.map(), &gone), Err(Code::UnknownKey));
    assert_eq!(grant(&frozen, "c").unwrap().name, "c.md");
    // No call of this server leads here.
    assert_eq!(grant(&frozen, "a").unwrap_err(), Code::Internal);
    for without in [gone, env, none] {
        let frozen = freeze(&tree, Some(&without));
        assert_eq!(frozen.directories().count(), 0);
    }
}

/// A server that starts again after a file system hung does not wait for it again.
#[test]
fn an_entry_that_hung_before_is_not_looked_at_again_and_the_others_are() {
    let tree = tree();
    let mut hung = BTreeSet::from([1]);
    let live = Arc::new(live(&tree));
    let frozen = FrozenMap::freeze(&live, None, &mut hung, Limits::default()).unwrap();
    assert_eq!(grant(&frozen, "b").unwrap_err(), Code::TimedOut);
    for key in ["a", "c"] {
        assert!(grant(&frozen, key).is_ok());
    }
    assert_eq!(hung, BTreeSet::from([1]));
}
