//! What a binding may be called, and what it may show.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{BadBindingName, BindingName};
use crate::map::{Map, tests::location};
use keyhole_tree::Tree;

#[test]
fn a_name_is_1_to_64_of_a_to_z_digits_and_hyphens() {
    for good in ["a", "scanner-catalog", "0", "-", &"a".repeat(64)] {
        assert_eq!(good.parse::<BindingName>().as_deref(), Ok(good));
    }
    for bad in ["", "A", "a_b", "a b", "é", "a\n", &"a".repeat(65)] {
        assert_eq!(bad.parse::<BindingName>(), Err(BadBindingName), "{bad}");
    }
}

/// A short key may be any word.
#[test]
fn a_client_is_shown_no_long_key_of_the_map_in_a_name_title_or_description() {
    let tree = Tree::empty();
    for (name, text, shows) in [
        ("a", "title = 'any word'", false),
        ("a", "title = 'it is k-long-and-random-7f3a'", true),
        ("a-k-long-and-random-7f3a", "", true),
        ("a", "description = 'k-long-and-random-7f3a'", true),
        ("word", "description = 'a word'", false),
    ] {
        let map = format!(
            "[keys]\nk-long-and-random-7f3a = '/a.md'\nword = '/b.md'\n\
             [bindings.{name}]\npath = '/c.md'\n{text}\n"
        );
        let map = Map::parse(map.as_bytes(), &location(&tree)).unwrap();
        let binding = map.binding(name).unwrap();
        assert_eq!(binding.shows_a_key(name, &map), shows, "{name} {text}");
    }
}
