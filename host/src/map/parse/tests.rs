//! What a map may say, and where each mistake is shown.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{
    super::{Key, Location, Map, ParseError},
    Reader,
};
use crate::limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES};
use proptest::prelude::*;
use std::{collections::BTreeMap, ffi::OsString, path::Path};

fn location(home: Option<&str>) -> Location {
    Location::find(Some(Path::new("/maps/m.toml")), |name| {
        home.filter(|_| name == "HOME").map(OsString::from)
    })
    .unwrap()
}

fn parse(text: &str) -> Result<Map, ParseError> {
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
        format!("{}:{} {}", error.line, error.column, error.message),
        error.help.unwrap_or_default(),
    )
}

#[test]
fn an_entry_is_a_path_or_a_table_with_one() {
    let map = parse(
        r#"
        roots = ["~/notes", "/srv"]
        max_bytes = 1_000
        [keys]
        k = "a.md"
        "#,
    )
    .unwrap();
    assert_eq!(map.find(&key("k")).unwrap().max_bytes(), 1000);
    assert_eq!(map.said.roots.as_ref().unwrap().len(), 2);

    let map = parse(
        r#"
        [keys]
        plain = "~/notes/a.md"
        "quoted.key" = { path = "b.md", max_bytes = 0x10, agents = ["plugin:agent", "other"] }
        [keys.header]
        path = "c.md"
        "#,
    )
    .unwrap();
    let plain = map.find(&key("plain")).unwrap();
    assert_eq!(
        (plain.path(), plain.max_bytes(), plain.agents()),
        ("~/notes/a.md", DEFAULT_MAX_BYTES, None)
    );
    let quoted = map.find(&key("quoted.key")).unwrap();
    assert_eq!(
        (quoted.path(), quoted.max_bytes(), quoted.line()),
        ("b.md", 16, 4)
    );
    assert_eq!(
        quoted.agents().unwrap(),
        ["plugin:agent", "other"].map(|name| name.try_into().unwrap())
    );
    assert_eq!(map.find(&key("header")).unwrap().path(), "c.md");
    assert!(map.find(&key("plai")).is_none());
}

#[test]
fn entries_come_in_the_order_of_the_file() {
    let map = parse("[keys]\nz = 'z.md'\nb = 'b.md'\na = 'a.md'\n").unwrap();
    let order: Vec<_> = map
        .entries()
        .iter()
        .map(|entry| (entry.expose_key().to_owned(), entry.line()))
        .collect();
    assert_eq!(order, [("z".into(), 2), ("b".into(), 3), ("a".into(), 4)]);
}

#[test]
fn lines_are_told_in_whatever_order_the_tables_stand() {
    let map =
        parse("[bindings.b]\nkey_env = '_B1'\n\n[keys]\nk-1 = 'a.md'\n[bindings.a]\nkey = 'k-1'\n");
    let map = map.unwrap();
    assert_eq!(map.binding("b").unwrap().line(), 1);
    assert_eq!(map.find(&key("k-1")).unwrap().line(), 5);
    assert_eq!(map.binding("a").unwrap().line(), 6);
}

#[test]
fn a_map_without_keys_is_a_map() {
    for text in ["", "\u{feff}", "# nothing yet\n", "[keys]\n", "keys = {}"] {
        assert!(parse(text).unwrap().entries().is_empty());
    }
}

#[test]
fn the_highest_limit_may_be_set_and_no_higher() {
    let text = |bytes: u64| format!("max_bytes = {bytes}");
    assert!(parse(&text(1)).is_ok());
    assert!(parse(&text(MAX_MAX_BYTES)).is_ok());
    for bad in ["0", "-1", "16777217", "99999999999999999999999999"] {
        let (place, _) = mistake(&format!("max_bytes = {bad}"));
        assert_eq!(place, "1:13 max_bytes must be 1 to 8388608");
        let (place, _) = mistake(&format!(
            "[keys]\nk = {{ path = 'a.md', max_bytes = {bad} }}"
        ));
        assert_eq!(place, "2:34 max_bytes must be 1 to 8388608");
    }
}

/// A map on each line, the place and the message of its mistake, and the help if there
/// is any. `¶` ends a line, and `{long}` is longer than any name or text may be.
const MISTAKES: &str = r#"
root = ['/a'] ⇒ 1:1 unknown field ⇒ did you mean roots?
[keys]¶k = { path = 'a.md', maxbytes = 1 } ⇒ 2:22 unknown field
[keys]¶k = { pth = 'a.md' } ⇒ 2:7 unknown field ⇒ did you mean path?
[keys]¶k = { max_bytes = 1 } ⇒ 2:5 this entry has no path
[keys]¶k = 'a.md'¶k = 'b.md' ⇒ 3:1 not TOML: duplicate key
[keys]¶k = 'a.md'¶'k' = 'b.md' ⇒ 3:1 not TOML: duplicate key
[keys]¶[keys] ⇒ 2:2 not TOML: duplicate key
[keys]¶'' = 'a.md' ⇒ 2:1 a key is empty
[keys]¶'a b' = 'a.md' ⇒ 2:1 a key may hold visible ASCII characters only, no blanks
[keys]¶"a\u0000" = 'a.md' ⇒ 2:1 a key may hold visible ASCII characters only, no blanks
[keys]¶{long} = 'a.md' ⇒ 2:1 a key is longer than 128 characters
[keys]¶a.md = 'a.md' ⇒ 2:1 a dot cuts this key in two
[keys.a.b]¶path = 'a.md' ⇒ 1:7 a dot cuts this key in two
[keys]¶k = '' ⇒ 2:5 a path is empty
[keys]¶k = { path = '' } ⇒ 2:14 a path is empty
[keys]¶k = '~' ⇒ 2:5 only ~/ is expanded, to your own home
[keys]¶k = '~root/a.md' ⇒ 2:5 only ~/ is expanded, to your own home
[keys]¶k = "a\u0000.md" ⇒ 2:5 a path holds a NUL character
[keys]¶k = 1 ⇒ 2:5 expected a path or a table with a path; found: integer
[keys]¶k = ['a.md'] ⇒ 2:5 expected a path or a table with a path; found: array
[keys]¶k = 'a.md'¶roots = ['/a'] ⇒ 3:1 this is under [keys], so it counts as a key
[keys]¶k = { path = 1 } ⇒ 2:14 expected a string; found: integer
[[keys]]¶k = 'a.md' ⇒ 1:1 expected a table: write [keys]; found: array
max_bytes = 1.5 ⇒ 1:13 expected a number of bytes; found: float
max_bytes = '1' ⇒ 1:13 expected a number of bytes; found: string
roots = '/a' ⇒ 1:9 expected a list of strings; found: string
roots = [] ⇒ 1:9 this list is empty
roots = ['/a', 'b'] ⇒ 1:16 a root must begin with / or ~/
roots = ['~'] ⇒ 1:10 only ~/ is expanded, to your own home
roots = ['/a', 1] ⇒ 1:16 expected a string; found: integer
[keys]¶k = { path = 'a.md', agents = [] } ⇒ 2:31 this list is empty
[keys]¶k = { path = 'a.md', agents = [''] } ⇒ 2:32 an agent's name is empty
[keys]¶k = { path = 'a.md', agents = ['a b'] } ⇒ 2:32 an agent's name may hold visible ASCII characters only, no blanks
[keys]¶k = { path = 'a.md', agents = ['{long}'] } ⇒ 2:32 an agent's name is longer than 128 characters
max-bytes = 1 ⇒ 1:1 unknown field ⇒ did you mean max_bytes?
[key] ⇒ 1:2 unknown field ⇒ did you mean keys?
'k-1' = 'a.md' ⇒ 1:1 unknown field ⇒ a map has roots, max_bytes, keys, bindings; keys go under [keys]
[keys]¶k = { path = 'a.md', agent = ['a'] } ⇒ 2:22 unknown field ⇒ did you mean agents?
[keys]¶k = { path = 'a.md', encoding = 'utf-8' } ⇒ 2:22 unknown field ⇒ an entry has path, max_bytes, agents
[keys]¶z = 1¶a = { max_bytes = 0, path = '' } ⇒ 2:5 expected a path or a table with a path; found: integer
[keys]¶a = { max_bytes = 0, path = '' } ⇒ 2:19 max_bytes must be 1 to 8388608
bindings = 1 ⇒ 1:12 expected a table: write [bindings.NAME]; found: integer
[bindings]¶a = 'k' ⇒ 2:5 expected a table with a key; found: string
[bindings.A]¶key = 'k' ⇒ 1:11 a binding's name is 1 to 64 of a to z, digits and -
[bindings.a] ⇒ 1:1 this binding has no key ⇒ write key = "…", or key_file or key_env
[bindings.a]¶key = 'k'¶key_env = 'E' ⇒ 3:11 this binding's key is given twice ⇒ keep one of key, key_file, key_env
[bindings.a]¶key = 'k k' ⇒ 2:7 a key may hold visible ASCII characters only, no blanks
[bindings.a]¶kye = 'k' ⇒ 2:1 unknown field ⇒ did you mean key?
[bindings.a]¶key = 'k'¶namespace = 'n' ⇒ 3:1 unknown field ⇒ a binding has key, key_file, key_env, title, description
[bindings.a]¶key_env = 'E-F' ⇒ 2:11 key_env is the name of a variable: letters, digits and _
[bindings.a]¶key_file = '' ⇒ 2:12 a path is empty
[bindings.a]¶key = 'k'¶title = '' ⇒ 3:9 this text must have 1 to 80 characters
[bindings.a]¶key = 'k'¶title = "a\nb" ⇒ 3:9 this text holds a control or direction character; write it in one line, without
[bindings.a]¶key = 'k'¶description = "\u202E" ⇒ 3:15 this text holds a control or direction character; write it in one line, without
[bindings.a]¶key = 'k-1'¶title = 'use k-1' ⇒ 3:9 this text holds the key, and clients show it
[bindings.k-1]¶key = 'k-1' ⇒ 1:11 this name holds the key, and clients show it
[bindings.a]¶title = 7 ⇒ 1:1 this binding has no key ⇒ write key = "…", or key_file or key_env
binding = 1 ⇒ 1:1 unknown field ⇒ did you mean bindings?
[bindings.a]¶key = 'k'¶description = '{long}' ⇒ 3:15 this text must have 1 to 400 characters
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
fn broken_toml_is_shown_at_its_place() {
    for (text, line, column) in [
        ("[keys]\nk = ", 2, 5),
        ("[keys]\nk = \"a.md", 2, 10),
        ("[keys\n", 1, 6),
        ("[keys]\nk = \"\\q\"", 2, 7),
        ("[keys]\nk = { path = 'a.md'\n", 2, 20),
    ] {
        let error = parse(text).err().unwrap();
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_home_path_needs_a_home() {
    let parse = |text: &str| Map::parse(text.as_bytes(), &location(None));
    assert!(parse("[keys]\nk = 'a.md'").is_ok());
    for text in ["[keys]\nk = '~/a.md'", "\nroots = ['~/a']"] {
        let error = parse(text).err().unwrap();
        assert_eq!(
            (error.line, error.message.as_str()),
            (
                2,
                "~/ has no meaning here: HOME is not set to an absolute path"
            )
        );
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_shown_at_their_place() {
    let error = Map::parse(b"[keys]\nk\xff = 'a.md'", &location(None))
        .err()
        .unwrap();
    assert_eq!((error.line, error.column), (2, 2));
}

#[test]
fn no_message_quotes_the_map() {
    // A key in each place that can be wrong.
    for text in [
        "SECRET = 'a.md'",
        "[SECRET]",
        "[keys]\nSECRET = 1",
        "[keys]\nSECRET",
        "[keys]\nSECRET = 'a.md'\nSECRET = 'a.md'",
        "[keys]\nSECRET.md = 'a.md'",
        "[keys]\n'SECRET x' = 'a.md'",
        "[keys]\n'SECRET = 'a.md'",
        "[keys]\nk = SECRET",
        "[keys]\nk = { SECRET = 1 }",
        "[keys]\nk = { path = 'a.md', agents = ['SECRET x'] }",
        "roots = ['SECRET']",
        "max_bytes = 'SECRET'",
    ] {
        let error = parse(text).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{text}");
    }
}

#[test]
fn a_map_of_100_000_keys_is_read_whole() {
    let mut text = String::from("[keys]\n");
    for n in 0..100_000 {
        text.push_str(&format!(
            "\"k-{n:032x}\" = {{ path = \"{n}.md\", max_bytes = {} }}\n",
            n + 1
        ));
    }
    assert!(text.len() as u64 <= crate::limits::MAX_MAP_BYTES);
    let map = parse(&text).unwrap();
    assert_eq!(map.entries().len(), 100_000);
    for n in [0, 1, 4_711, 99_999] {
        let entry = map.find(&key(&format!("k-{n:032x}"))).unwrap();
        assert_eq!(
            (entry.path(), entry.max_bytes(), entry.line()),
            (format!("{n}.md").as_str(), n + 1, n as u32 + 2)
        );
    }
}

#[test]
fn debug_shows_nothing_of_a_map() {
    let map = parse("[keys]\nk = 'a.md'").unwrap();
    assert_eq!(
        format!("{map:?} {:?}", map.entries()),
        "Map { .. } [Entry { .. }]"
    );
}

/// A TOML string of any text.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

proptest! {
    #[test]
    fn any_text_is_a_map_or_an_error(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn any_bytes_are_a_map_or_an_error(bytes in any::<Vec<u8>>()) {
        let _ = Map::parse(&bytes, &location(None));
    }

    #[test]
    fn any_text_of_toml_like_pieces_is_a_map_or_an_error(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "[keys]", "[[", "]", "{", "}", "=", ",", ".", "\"", "'''", "\"\"\"", "\n", "\r\n", " ", "#",
            "roots", "max_bytes", "keys", "path", "agents", "k", "é", "1", "-", "~/", "'a.md'", "\\u", "\u{202e}",
        ]), 0..40)
    ) {
        if let Err(error) = parse(&pieces.concat()) {
            prop_assert!(error.line > 0 && error.column > 0 && !error.message.is_empty());
        }
    }

    #[test]
    fn what_a_map_says_is_what_is_found(
        keys in prop::collection::btree_map("[!-~]{1,128}", ("[^~\0]{1,40}", 1..=MAX_MAX_BYTES), 0..20)
    ) {
        let keys: BTreeMap<String, (String, u64)> = keys;
        let mut text = String::from("[keys]\n");
        for (key, (path, bytes)) in &keys {
            text.push_str(&format!("{} = {{ path = {}, max_bytes = {bytes} }}\n", quoted(key), quoted(path)));
        }
        let map = parse(&text).unwrap();
        prop_assert_eq!(map.entries().len(), keys.len());
        for (name, (path, bytes)) in &keys {
            let entry = map.find(&key(name)).unwrap();
            prop_assert_eq!((entry.path(), entry.max_bytes()), (path.as_str(), *bytes));
        }
    }
}

#[test]
fn a_binding_names_one_key_and_what_to_show() {
    let map = parse(
        r#"
        [keys]
        k-secret = "a.md"
        [bindings.scanner-catalog]
        key = "k-secret"
        title = "Identifiers"
        description = "Names that must not get out"
        [bindings]
        from-file = { key_file = "~/key" }
        from-env = { key_env = "CATALOG_KEY" }
        "#,
    )
    .unwrap();
    let names: Vec<_> = map.bindings().iter().map(|(name, _)| &***name).collect();
    assert_eq!(names, ["scanner-catalog", "from-file", "from-env"]);
    let binding = map.binding("scanner-catalog").unwrap();
    assert_eq!(
        (binding.title(), binding.description(), binding.line()),
        (Some("Identifiers"), Some("Names that must not get out"), 4)
    );
    assert_eq!(binding.key(&map).unwrap(), key("k-secret"));
    assert_eq!(map.binding("from-env").unwrap().title(), None);
    assert!(map.binding("none").is_none());
}

#[test]
fn of_two_mistakes_in_one_place_the_first_that_was_found_is_shown() {
    let mut reader = Reader::new("", true);
    for message in ["one", "another"] {
        let _: Option<()> = reader.fault(0..0, message.to_owned(), None);
    }
    let shown = reader.into_entries().err().unwrap().of("");
    assert_eq!(shown.to_string(), "1: one");
}

#[test]
fn under_another_maps_rules_only_an_entry_without_a_limit_of_its_own_takes_that_maps() {
    let rules = parse("roots = ['~/notes']\nmax_bytes = 7\n[keys]\n").unwrap();
    let other = "[keys]\nk1 = '/a.md'\nk2 = { path = '/b.md', max_bytes = 9 }\n";
    let ruled = rules.apply_rules_to(parse(other).unwrap());
    assert_eq!(ruled.find(&key("k1")).unwrap().max_bytes, 7);
    assert_eq!(ruled.find(&key("k2")).unwrap().max_bytes, 9);
    assert_eq!(ruled.said.roots, rules.said.roots);
}
