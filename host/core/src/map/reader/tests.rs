//! What a map may say, and where each mistake is shown.

use super::super::{Key, Location, Map, MapMistake};
use crate::limits::DEFAULT_MAX_BYTES;
use std::{ffi::OsString, path::Path};

fn location(home: Option<&str>) -> Location {
    Location::find(Some(Path::new("/maps/m.toml")), |name| {
        home.filter(|_| name == "HOME").map(OsString::from)
    })
    .unwrap()
}

fn parse(text: &str) -> Result<Map, MapMistake> {
    Map::parse(text.as_bytes(), &location(Some("/home/u")))
}

fn key(text: &str) -> Key {
    Key::try_from(text).unwrap()
}

/// The mistake's place and message, and its help, if there is any.
fn mistake(text: &str) -> (String, String) {
    let Err(error) = parse(text) else {
        panic!("this was taken for a map: {text}")
    };
    (
        format!("{} {}", error.line, error.message),
        error.help.unwrap_or_default(),
    )
}

#[test]
fn an_entry_is_a_path_or_a_table_with_one() {
    let map = parse(
        "[keys]\nplain = '~/notes/a.md'\n\
         'quoted.key' = { path = 'b.md', max_bytes = 0x10, agents = ['plugin:agent', 'other'] }\n\
         [keys.header]\npath = 'c.md'\n",
    )
    .unwrap();
    for (name, path, max_bytes, line, agents) in [
        ("plain", "~/notes/a.md", DEFAULT_MAX_BYTES, 2, None),
        ("quoted.key", "b.md", 16, 3, Some(2)),
        ("header", "c.md", DEFAULT_MAX_BYTES, 4, None),
    ] {
        let entry = map.find(&key(name)).unwrap();
        let found = (&*entry.path, entry.max_bytes, entry.line);
        assert_eq!(found, (path, max_bytes, line));
        assert_eq!(entry.agents.as_deref().map(<[_]>::len), agents);
    }
}

/// By TOML, all of them mean the same.
#[test]
fn an_entry_may_be_written_with_dots() {
    for text in [
        "keys.k.path = 'a.md'\nkeys.k.agents = ['审查员']\n",
        "[keys]\nk.path = 'a.md'\nk.agents = ['审查员']\n",
        "keys.\"k\".agents = ['审查员']\nkeys.k.path = 'a.md'\n",
        "[keys.k]\npath = 'a.md'\nagents = ['审查员']\n",
    ] {
        let map = parse(text).unwrap();
        let entry = map.find(&key("k")).unwrap();
        assert_eq!(&*entry.path, "a.md", "{text}");
        assert_eq!(
            entry.agents.as_deref().unwrap(),
            ["审查员".try_into().unwrap()]
        );
    }
}

#[test]
fn a_map_without_keys_is_a_map() {
    for text in ["", "\u{feff}", "# nothing yet\n", "[keys]\n", "keys = {}"] {
        assert!(parse(text).unwrap().entries().is_empty());
    }
}

/// A map on each line, the place and the message of its mistake, and the help if there
/// is any. `¶` ends a line, and `{long}` is longer than any name or text may be.
const MISTAKES: &str = include_str!("mistakes.txt");

#[test]
fn each_mistake_is_shown_at_its_place_and_the_first_one_counts() {
    let long = "k".repeat(401);
    for row in MISTAKES.trim().lines() {
        let mut columns = row.split(" ⇒ ");
        let text = columns.next().unwrap().replace('¶', "\n");
        let (place, help) = mistake(&text.replace("{long}", &long));
        assert_eq!(columns.next(), Some(&*place), "{row}");
        assert!(
            columns.next().is_none_or(|told| told == help),
            "{row}: {help}"
        );
    }
}

#[test]
fn an_entry_says_where_its_values_may_be_published() {
    for (field, expected) in [
        ("", None),
        (", publish_only_in = []", Some(&[][..])),
        (
            ", publish_only_in = ['~/src/acme', '/srv/a']",
            Some(&["/home/u/src/acme", "/srv/a"]),
        ),
    ] {
        let map = parse(&format!("[keys]\nk = {{ path = 'a.md'{field} }}")).unwrap();
        let folders = map.find(&key("k")).unwrap().publish_only_in.as_deref();
        let paths = folders.map(|folders| folders.iter().map(Path::new).collect::<Vec<_>>());
        let expected = expected.map(|folders| folders.iter().map(Path::new).collect());
        assert_eq!(paths, expected, "{field}");
    }
}

#[test]
fn a_home_path_needs_a_home() {
    for text in ["[keys]\nk = '~/a.md'", "\nroots = ['~/a']"] {
        let error = Map::parse(text.as_bytes(), &location(None)).err().unwrap();
        let message = "~/ has no meaning here: HOME is not set to an absolute path";
        assert_eq!((error.line, &*error.message), (2, message));
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_shown_at_their_place() {
    let error = Map::parse(b"[keys]\nk\xff = 'a.md'", &location(None))
        .err()
        .unwrap();
    assert_eq!(error.line, 2);
}
