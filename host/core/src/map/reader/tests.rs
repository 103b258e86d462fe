//! What a map may say, and where each mistake is shown.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

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
        format!("{} {}", error.line(), error.message),
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
        let found = (entry.path(), entry.max_bytes(), entry.line());
        assert_eq!(found, (path, max_bytes, line));
        assert_eq!(entry.agents().map(<[_]>::len), agents);
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
        assert_eq!(entry.path(), "a.md", "{text}");
        assert_eq!(entry.agents().unwrap(), ["审查员".try_into().unwrap()]);
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
const MISTAKES: &str = r#"
root = ['/a'] ⇒ 1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; a key goes into [keys."KEY"]
kyes = 1 ⇒ 1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; a key goes into [keys."KEY"]
max-bytes = 1 ⇒ 1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; a key goes into [keys."KEY"]
[keys]¶k = { path = 'a.md', maxbytes = 1 } ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶k = { path = 'a.md', agent = 'x' } ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶k = { path = 'a.md', title = 'x' } ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶k = { pth = 'a.md' } ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶k = { max_bytes = 1 } ⇒ 2 this entry has no path ⇒ add a line: path = "…"
[keys]¶k = 'a.md'¶k = 'b.md' ⇒ 3 not TOML: duplicate key ⇒ remove one of the two
[keys]¶k = 'a.md'¶[bindings.k]¶path = 'a.md'¶[keys."k"] ⇒ 5 not TOML: duplicate key ⇒ remove one of the two
[keys."k"]¶path = 'a.md'¶[bindings.k]¶path = 'a.md'¶[keys.k] ⇒ 5 not TOML: duplicate key ⇒ remove one of the two
[keys.l]¶path = 'a.md'¶[keys.k]¶path = 'a.md'¶path = 'b.md' ⇒ 5 not TOML: duplicate key ⇒ remove one of the two
max_bytes = 1¶max_bytes = 2 ⇒ 2 not TOML: duplicate key
[keys]¶k = { path = 'a.md', path = 'b.md' } ⇒ 2 not TOML: duplicate key ⇒ remove one of the two
[keys.k]¶path = ~/a.md ⇒ 2 not TOML: string values must be quoted, expected literal string ⇒ put straight quotes around the value: path = "…"
[keys]¶k = "a.md ⇒ 2 not TOML: invalid basic string, expected `"`
[keys¶ ⇒ 1 not TOML: unclosed table, expected `]` ⇒ write an entry as two lines: [keys."KEY"] and path = "PATH". Use straight quotes. Write \ as \\
[keys]¶[keys] ⇒ 2 not TOML: duplicate key ⇒ remove one of the two
max_bytes = 1¶[ keys ] # mine¶k = 'a.md'¶¶[keys]¶l = 'a.md' ⇒ 5 not TOML: duplicate key
[keys.k]¶path = 'a.md'¶roots = ['/a'] ⇒ 3 unknown field ⇒ move this line to the top of the map
[keys]¶'' = 'a.md' ⇒ 2 a key is 1 to 128 visible ASCII characters, no blanks
[keys]¶'a b' = 'a.md' ⇒ 2 a key is 1 to 128 visible ASCII characters, no blanks
[keys]¶"a\u0000" = 'a.md' ⇒ 2 a key is 1 to 128 visible ASCII characters, no blanks
[keys]¶{long} = 'a.md' ⇒ 2 a key is 1 to 128 visible ASCII characters, no blanks
[keys]¶a.md = 'a.md' ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys.a.b]¶path = 'a.md' ⇒ 1 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶a.path.md = 'a.md' ⇒ 2 expected a string; found: table
keys.k.agents = ['a'] ⇒ 1 this entry has no path
keys.k.path = 'a.md'¶keys.k.agent = ['a'] ⇒ 2 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[keys]¶k = '' ⇒ 2 a path is empty
[keys]¶k = { path = '' } ⇒ 2 a path is empty
[keys]¶k = '~' ⇒ 2 only ~/ may be short
[keys]¶k = '~root/a.md' ⇒ 2 only ~/ may be short
[keys]¶k = "a\u0000.md" ⇒ 2 a path holds a NUL character
[keys]¶k = 1 ⇒ 2 expected a path or a table with a path; found: integer
[keys]¶k = 'a.md'¶roots = ['/a'] ⇒ 3 this is under [keys], so it counts as a key
[keys]¶k = { path = 1 } ⇒ 2 expected a string; found: integer
[[keys]]¶k = 'a.md' ⇒ 1 expected tables: write [keys."KEY"]; found: array
max_bytes = 0 ⇒ 1 max_bytes must be 1 to 8388608
max_bytes = -1 ⇒ 1 max_bytes must be 1 to 8388608
[keys]¶k = { path = 'a.md', max_bytes = 8388609 } ⇒ 2 max_bytes must be 1 to 8388608
[keys]¶k = { path = 'a.md', max_bytes = 99999999999999999999999999 } ⇒ 2 max_bytes must be 1 to 8388608
max_bytes = 1.5 ⇒ 1 expected a number: write max_bytes = 65536; found: float
roots = '/a' ⇒ 1 expected a list: write roots = ["FOLDER"]; found: string
[keys.k]¶path = 'a.md'¶agents = 'x' ⇒ 3 expected a list: write agents = ["NAME"]; found: string
roots = [] ⇒ 1 this list is empty
roots = ['/a', 'b'] ⇒ 1 a root must begin with / or ~/
roots = ['~'] ⇒ 1 only ~/ may be short
roots = ['/a', 1] ⇒ 1 expected a string; found: integer
[keys]¶k = { path = 'a.md', withhold = true } ⇒ 2 withhold needs agents ⇒ add a line: agents = ["NAME"]
[keys]¶k = { path = 'a.md', agents = ['x'], withhold = 1 } ⇒ 2 expected true or false; found: integer
[keys]¶k = { path = 'a.md', agents = [] } ⇒ 2 this list is empty
[keys]¶k = { path = 'a.md', agents = [''] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[keys]¶k = { path = 'a.md', agents = ['a b'] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[keys]¶k = { path = 'a.md', agents = ["a\u200bb"] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[keys]¶k = { path = 'a.md', agents = ['{long}'] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[keys]¶k = { path = 'a.md', agents = ['*'] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[keys]¶k = { path = 'a.md', agents = ['a', 'acme:*'] } ⇒ 2 an agent's name is 1 to 128 visible characters, no blanks and no * ⇒ without agents, any agent may use the key
[key] ⇒ 1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; a key goes into [keys."KEY"]
'k-1' = 'a.md' ⇒ 1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; a key goes into [keys."KEY"]
[keys]¶z = 1¶a = { max_bytes = 0, path = '' } ⇒ 2 expected a path or a table with a path; found: integer
[keys]¶b = { path = 'b.md', max_bytes = 0 }¶a = { path = '' } ⇒ 2 max_bytes must be 1 to 8388608
bindings = 1 ⇒ 1 expected a table: write [bindings.NAME]; found: integer
[bindings]¶a = 'a.md' ⇒ 2 expected a table with a path; found: string
[bindings.A]¶path = 'a.md' ⇒ 1 a binding's name is 1 to 64 of a to z, digits and -
[bindings.a] ⇒ 1 this entry has no path ⇒ add a line: path = "…"
[bindings.a]¶title = 7 ⇒ 1 this entry has no path ⇒ add a line: path = "…"
[bindings.a]¶pth = 'a.md' ⇒ 2 unknown field ⇒ a binding has path, max_bytes, agents, title, description; a key goes into [keys."KEY"]
[bindings.a]¶path = 'a.md'¶namespace = 'n' ⇒ 3 unknown field ⇒ a binding has path, max_bytes, agents, title, description; a key goes into [keys."KEY"]
[bindings.a]¶path = 'a.md'¶k-1 = 'b.md' ⇒ 3 unknown field ⇒ a binding has path, max_bytes, agents, title, description; a key goes into [keys."KEY"]
[keys.k]¶path = 'a.md'¶'k-1' = '~/b.md' ⇒ 3 unknown field ⇒ an entry has path, max_bytes, agents, withhold; a key goes into [keys."KEY"]
[bindings.a]¶path = '~b.md' ⇒ 2 only ~/ may be short
[bindings.a]¶path = 'a.md'¶max_bytes = 0 ⇒ 3 max_bytes must be 1 to 8388608
[bindings.a]¶path = 'a.md'¶agents = [] ⇒ 3 this list is empty
[bindings.a]¶path = 'a.md'¶title = '' ⇒ 3 this text must have 1 to 80 characters
[bindings.a]¶path = 'a.md'¶title = "a\nb" ⇒ 3 this text holds a control or direction character; write it as one line, without such characters
[bindings.a]¶path = 'a.md'¶description = "\u202E" ⇒ 3 this text holds a control or direction character; write it as one line, without such characters
[bindings.a]¶path = 'a.md'¶description = '{long}' ⇒ 3 this text must have 1 to 400 characters
"#;

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
fn a_home_path_needs_a_home() {
    for text in ["[keys]\nk = '~/a.md'", "\nroots = ['~/a']"] {
        let error = Map::parse(text.as_bytes(), &location(None)).err().unwrap();
        let message = "~/ has no meaning here: HOME is not set to an absolute path";
        assert_eq!((error.line(), &*error.message), (2, message));
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_shown_at_their_place() {
    let error = Map::parse(b"[keys]\nk\xff = 'a.md'", &location(None))
        .err()
        .unwrap();
    assert_eq!(error.line(), 2);
}
