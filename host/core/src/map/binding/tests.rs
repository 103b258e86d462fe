//! Where a binding's key may come from, and what is refused.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{BadBindingName, BindingError, BindingName};
use crate::{
    code::Code,
    map::{Key, Map, tests::location},
};
use keyhole_tree::Tree;
use keyhole_walk::SystemError;
use std::io::ErrorKind;

/// The key that the map of `tree` gives the binding `b`.
fn key(tree: &Tree, source: &str) -> Result<String, BindingError> {
    let location = location(tree);
    let map = Map::parse(format!("[bindings.b]\n{source}\n").as_bytes(), &location).unwrap();
    let key = map.binding("b").unwrap().key(&map);
    key.map(|key| key.expose().to_owned())
}

/// With a file `key` in it.
fn with(text: &[u8], mode: u32) -> Tree {
    let tree = Tree::empty();
    tree.write("key", text);
    tree.mode("key", mode);
    tree
}

#[test]
fn a_name_is_1_to_64_of_a_to_z_digits_and_hyphens() {
    for good in ["a", "scanner-catalog", "0", "-", &"a".repeat(64)] {
        assert_eq!(BindingName::try_from(good).as_deref(), Ok(good));
    }
    for bad in ["", "A", "a_b", "a b", "é", "a\n", &"a".repeat(65)] {
        assert_eq!(BindingName::try_from(bad), Err(BadBindingName), "{bad}");
    }
}

#[test]
fn one_line_end_after_the_key_is_not_part_of_it() {
    for text in [&b"k-a"[..], b"k-a\n", b"k-a\r\n"] {
        let tree = with(text, 0o600);
        assert_eq!(key(&tree, "key_file = 'key'").unwrap(), "k-a");
    }
    let longest = "k".repeat(128);
    let tree = with(format!("{longest}\r\n").as_bytes(), 0o600);
    assert_eq!(key(&tree, "key_file = 'key'").unwrap(), longest);
    for text in [
        &b"k-a\n\n"[..],
        b" k-a",
        b"\xff",
        &[b'k'; 129],
        &[b'k'; 9000],
        b"",
    ] {
        let tree = with(text, 0o600);
        let error = key(&tree, "key_file = 'key'").unwrap_err();
        assert!(matches!(error, BindingError::NotAKey(_)), "{error:?}");
    }
}

/// Its own key, however short, and a long key of the map, whoever has it. A short key of
/// another entry may be any word.
#[test]
fn a_client_is_shown_no_key_of_the_map_in_a_name_title_or_description() {
    let tree = Tree::empty();
    for (name, text, own, shows) in [
        ("a", "title = 'any word'", Some("k-own"), false),
        ("a", "title = 'it is k-own'", Some("k-own"), true),
        ("a-k-own", "", Some("k-own"), true),
        ("a", "description = 'k-long-and-random-7f3a'", None, true),
        ("a", "description = 'a word'", None, false),
    ] {
        let map = format!(
            "[keys]\nk-long-and-random-7f3a = '/a.md'\nword = '/b.md'\n\
             [bindings.{name}]\nkey_env = 'OWN'\n{text}\n"
        );
        let map = Map::parse(map.as_bytes(), &location(&tree)).unwrap();
        let own = own.map(|own| Key::try_from(own).unwrap());
        let binding = map.binding(name).unwrap();
        assert_eq!(
            binding.shows_a_key(name, own.as_ref(), &map),
            shows,
            "{text}"
        );
    }
}

#[test]
fn a_key_that_nobody_can_look_up_now_is_not_called_unknown() {
    for (error, code) in [
        (SystemError::OutOfResources, Code::OutOfResources),
        (SystemError::Late, Code::TimedOut),
        (SystemError::Confined, Code::RestartNeeded),
        (SystemError::Busy, Code::Changed),
        (SystemError::Failed(ErrorKind::Other), Code::Internal),
        (SystemError::Missing, Code::UnknownKey),
    ] {
        assert_eq!(BindingError::Unreadable(error).code(), code);
    }
    assert_eq!(BindingError::NoVariable.code(), Code::UnknownKey);
}
