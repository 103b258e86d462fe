//! A changed map counts from the next call on, and no call sees half of it.

use super::{LiveMap, MapError};
use crate::{
    limits::MAX_MAP_BYTES,
    map::{Key, Location},
    refusal::Refusal,
};
use keyhole_tree::Tree;
use keyhole_walk::SystemError;
use std::{path::PathBuf, sync::Arc};

const A: &str = "[keys]\na = 'a.md'\n";

fn live(tree: &Tree) -> LiveMap {
    LiveMap::new(Location::find(Some(&tree.map()), |_| None).unwrap())
}

fn has(live: &LiveMap, key: &str) -> bool {
    let key = Key::try_from(key).unwrap();
    live.current().unwrap().find(&key).is_some()
}

#[test]
fn a_map_is_parsed_once_and_a_wrong_one_leaves_nothing_of_it() {
    let tree = Tree::with(A);
    let live = live(&tree);
    let first = live.current().unwrap();
    assert!(Arc::ptr_eq(&first, &live.current().unwrap()));
    tree.write("map.toml", "roots = []");
    for _ in 0..2 {
        assert!(matches!(live.current(), Err(MapError::Parse(..))));
    }
    tree.write("map.toml", A);
    assert!(!Arc::ptr_eq(&first, &live.current().unwrap()));
}

#[test]
fn a_map_may_be_as_large_as_the_limit_and_no_larger() {
    let most = usize::try_from(MAX_MAP_BYTES).unwrap();
    let comment = |bytes: usize| format!("{A}{}", "#".repeat(bytes - A.len()));
    let tree = Tree::with(comment(most));
    let live = live(&tree);
    assert!(has(&live, "a"));
    tree.write("map.toml", comment(most + 1));
    let error = live.current().err().unwrap();
    let size = MAX_MAP_BYTES + 1;
    assert!(matches!(error, MapError::TooLarge(_, told) if told == size));
}

#[test]
fn what_a_server_says_at_its_start_begins_with_the_code_and_does_not_name_the_map() {
    // What the system does not give now is not called a wrong map.
    for (source, code) in [
        (SystemError::OutOfResources, Refusal::OutOfResources),
        (SystemError::Late, Refusal::TimedOut),
        (SystemError::Confined, Refusal::RestartNeeded),
        (SystemError::Denied, Refusal::MapInvalid),
        (SystemError::Busy, Refusal::Changed),
    ] {
        let path = PathBuf::from("/hunter2/map.toml");
        let error = MapError::Unreadable(path, source);
        let said = error.code().says();
        assert_eq!(error.code(), code);
        assert_eq!(said.split(':').next(), Some(code.as_str()));
        assert!(!said.contains("hunter2"), "{said}");
    }
}
