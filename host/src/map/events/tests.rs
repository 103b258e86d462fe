//! A map that is read by events is the map that is read as one document.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{
    super::{Map, Said},
    Location, PARTS, TOKENS, parts_of, read,
};
use proptest::prelude::*;
use std::path::Path;

fn location() -> Location {
    Location::find(Some(Path::new("/maps/m.toml")), |name| {
        (name == "HOME").then(|| "/home/u".into())
    })
    .unwrap()
}

/// All that a map says, with the places where it says so.
fn said(map: &Map) -> String {
    let mut said = format!("{:?} {}", map.said.roots, map.said.max_bytes);
    for entry in map.entries() {
        let found = map.find(&entry.key()).unwrap();
        assert!(std::ptr::eq(found.path(), entry.path()));
        said += &format!(
            "\n{} {} {} {:?} {:?}",
            entry.expose_key(),
            entry.path,
            entry.max_bytes,
            entry.agents,
            (entry.line(), entry.at, found.line())
        );
    }
    for (name, binding) in map.bindings() {
        said += &format!("\n{name} {:?} {}", binding.title(), binding.line());
    }
    said
}

/// Whether a text is read with so many tokens at once, for each of these numbers. If it
/// is, then as one document too, and both say the same.
fn is_read(text: &str, most: &[usize]) -> Vec<bool> {
    let map = |said| Map {
        location: location(),
        text: text.to_owned().into(),
        said,
    };
    let whole = Said::parse_whole(text, &location()).map(map);
    let is_read = |most, parts| match (read(text, &location(), most, parts).map(map), &whole) {
        (None, _) => false,
        (Some(map), Ok(whole)) => {
            assert_eq!(said(&map), said(whole), "{most} {parts}: {text}");
            true
        }
        (Some(_), Err(error)) => panic!("{most} {parts}: {error}: {text}"),
    };
    most.iter()
        .map(|most| {
            // The end of a part may fall into a value, or the mistake be in no line that counts.
            is_read(*most, PARTS);
            is_read(*most, 1)
        })
        .collect()
}

const MOST: [usize; 5] = [1, 5, 13, 40, TOKENS];

fn is_read_by_events(text: &str) -> bool {
    let read = is_read(text, &MOST);
    assert!(
        read.iter().all(|is_read| *is_read == read[0]),
        "{read:?}: {text}"
    );
    read[0]
}

#[test]
fn what_people_write_is_read_by_events() {
    for text in [
        "[keys]\nk1 = 'a.md'\n\"k2\" = \"b.md\"\nk3 = \'\'\'c.md\'\'\'\n",
        "# Mine\nroots = ['~/notes']\nmax_bytes = 9\n\n[keys] # mine too\nk1 = 'a.md'\n",
        "roots = ['~/notes']\r\n[keys]\r\nk1 = 'a.md'\r\n\r\n# A comment.\r\nk2 = 'b.md' # another\r\n",
        "[bindings.b]\nkey = 'k1'\ntitle = 'T'\n[keys]\nk1 = 'a.md'\nk2 = 'b.md'",
        "[keys]\nk1 = { path = 'a.md', agents = ['p:a'] }\n\"k.2\" = { path = 'b.md', max_bytes = 3 }\n\n[bindings.b]\nkey = 'k1'\n",
        "\u{feff}[ 'keys' ]\nk1 = 'a.md'\n\t[bindings.b]\nkey_env = 'B'\n",
        "[keys]\nk = \"\"\"\na.md\"\"\"\nl = \'\'\'\n[keys]\nk.md\'\'\'\n",
        "[bindings]\n[keys]\n[bindings.b]\nkey = 'k1'\ntitle = \"\"\"\n[keys]\"\"\"\n",
        "[keys]\n",
    ] {
        assert!(is_read_by_events(text), "{text}");
    }
}

#[test]
fn what_is_more_than_lines_under_keys_is_left_to_the_document() {
    for text in [
        // A name twice, by each way to write one.
        "[keys]\nk = 'a.md'\nl = 'b.md'\nk = 'c.md'\n",
        "[keys]\nk = 'a.md'\nl = 'b.md'\n\"\\u006b\" = 'c.md'\n",
        "[keys]\nk = 'a.md'\nl = 'b.md'\n[keys.k]\npath = 'c.md'\n",
        "[keys.k]\npath = 'c.md'\n[keys]\nl = 'b.md'\nk = 'a.md'\n",
        "[keys]\nk = 'a.md'\n[bindings.b]\nkey = 'k'\n[keys]\nl = 'b.md'\n",
        "[keys]\nk = 'a.md'\n[[keys]]\nl = 'b.md'\n",
        "keys = {}\n[keys]\nk = 'a.md'\n",
        "max_bytes = 5\nmax_bytes = 6\n[keys]\nk = 'a.md'\n",
        // Other tables of keys.
        "[keys]\nk = 'a.md'\n[keys.l]\npath = 'b.md'\n",
        "[keys.l]\npath = 'b.md'\n[keys]\nk = 'a.md'\n",
        "keys.k = 'a.md'\n",
        "keys = { k = 'a.md' }\n",
        "keys.k = 'a.md'\n[keys]\nl = 'b.md'\n",
        "[keys]\nk.path = 'a.md'\nl = 'b.md'\nk.max_bytes = 3\n",
        // Text that looks like what it is not.
        "[bindings.b]\nkey = 'k'\ntitle = \'\'\'\n[keys]\nk = 'a.md'\n\'\'\'\n",
        "title = \"\"\"\n[keys]\nk = 'a.md'\n[\"\"\"\n",
        "roots = [\"\"\"/x\n[keys]\n\nk = '/a.md'\n[\"\"\"]\n",
        "roots = ['/a',\n[keys]\n]\n",
        "[other.keys]\nk = 'a.md'\n",
        // Only a document may begin with this.
        "[keys]\n\u{feff}k = 'a.md'\n",
        "[keys]\nl = 'b.md'\n\u{feff}k = 'a.md'\n",
        // Mistakes.
        "[keys]\nk = 'a.md'\nl = 7\n",
        "[keys]\nk = 'a.md'\nl = 1979-05-27\n",
        "[keys]\nk = 'a.md'\nl = 'b.md' m = 'c.md'\n",
        "[keys]\nk = 'a.md'\nl = { path = 'b.md', path = 'c.md' }\n",
        "[keys]\nk = 'a.md'\nl = { path = 'b.md', agents = ['p:a', 7] }\n",
        "[keys]\nk = 'a.md'\nl = \n",
        "[keys]\nk = 'a.md'\nl = = 'b.md'\n",
        "[keys]\nk = 'a.md'\nl\n",
        "[keys]\nk = 'a.md'\n= 'b.md'\n",
        "[keys]\nk = 'a.md'\n\"\"\"l\"\"\" = 'b.md'\n",
        "[keys]\nk = 'a.md'\nl = \"\\q\"\n",
        "[keys]\nk = 'a.md' # \u{7}\n",
        "[keys]\nk = 'a.md'\r",
        "[keys]\nk = 'a.md'\nroots = ['/']\n",
        "[keys]\nk = 'a.md'\n]\n",
        "max_bytes = 0\n[keys]\nk = 'a.md'\n",
        "[key]\n[keys]\nk = 'a.md'\n",
        "[keys]\nk = 'a.md'\n[keys.l]\n",
        "[keys\nk = 'a.md'\n",
        "[keys] k = 'a.md'\n",
        "[keys]\nk = \"\"\"\na.md\n\nl = 'b.md'\"\"\"\n\u{7}\n",
    ] {
        assert!(!is_read_by_events(text), "{text}");
    }
}

#[test]
fn a_value_of_many_lines_is_read_with_all_of_its_tokens_or_not_by_events() {
    let text = "[keys]\nk = { path = 'a.md', agents = [\n'p:a', # and\n'p:b',\n] }\nl = 'b.md'\n";
    assert_eq!(is_read(text, &[1, TOKENS]), [false, true]);
    // However the end of a part falls into it.
    for most in 1..40 {
        is_read(text, &[most]);
    }
}

#[test]
fn values_may_be_as_deep_in_each_other_as_in_a_document_and_no_deeper() {
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("[keys]\nk = {{ path = 'a.md', x = {open}{close} }}\n")
    };
    for depth in [1, 78, 79, 80, 81, 100_000] {
        assert!(!is_read_by_events(&deep(depth)));
    }
}

#[test]
fn a_large_map_is_read_by_events_and_each_line_is_where_it_stands() {
    let mut text = String::from("# One\nroots = ['/n']\n[bindings.a]\nkey = 'k-7'\n[keys]\n");
    for n in 0..400 {
        let rest = ["", " # no", "\n", "\r"][n % 4];
        text.push_str(&format!("  \"k-{n}\" = \"/n/{n}.md\"{rest}\n"));
    }
    for n in 0..400 {
        text.push_str(&format!(
            "\"l-\\u0061-{n}\" = {{ path = \"/n/\\u0062\", agents = ['p:{n}'] }}\n"
        ));
    }
    for end in [
        "",
        "[bindings.b]\nkey = 'last'\n[bindings.c]\nkey = 'last'\n",
        // The middle of the text falls behind the lines.
        &"# Rest.\n".repeat(5_000),
    ] {
        text.push_str(end);
        assert_eq!(is_read(&text, &[40, TOKENS]), [true; 2]);
        for parts in 2..PARTS {
            assert!(read(&text, &location(), TOKENS, parts).is_some());
        }
    }
    // One reader sees the one, and one the other.
    let twice = text.replace("[bindings.b]", "k-1 = 'a.md'\n[bindings.b]");
    assert!(Said::parse_whole(&twice, &location()).is_err());
    assert_eq!(is_read(&twice, &[TOKENS]), [false]);
}

#[test]
fn the_parts_of_a_text_follow_each_other_and_are_about_as_long() {
    // Its last lines are shorter than what is left over when it is divided.
    let text = format!("{}{}\n\n\n", "[keys]\n", "k = 'a.md'\n".repeat(100));
    for parts in 1..=7 {
        let all = parts_of(&text, 7, parts);
        assert_eq!(all.len(), parts);
        assert_eq!((all[0].start, all[parts - 1].end), (7, text.len()));
        assert!(all.is_sorted_by(|one, next| one.end == next.start));
        for part in &all {
            assert!(text[part.clone()].ends_with('\n'), "{all:?}");
            assert!(
                part.len().abs_diff((text.len() - 7) / parts) <= 22,
                "{all:?}"
            );
        }
    }
    assert_eq!(parts_of("[keys]\nk = 'a.md'", 7, 4)[2], 17..17);
}

proptest! {
    #[test]
    fn by_events_or_as_one_document_a_map_says_the_same(
        head in prop::collection::vec(prop::sample::select(vec![
            "roots = ['/a']\n", "max_bytes = 5\n", "# c\n", "roots = [\n", "roots = [\'\'\'/a\n", "\u{feff}", "[bindings.a]\nkey = 'k1'\n",
            "[keys.k9]\npath = 'a.md'\n", "title = \"\"\"\n", "]\n", "\'\'\']\n", "keys.a = 'b'\n", "[bindings]\n", "keys = {}\n",
        ]), 0..3),
        lines in prop::collection::vec(prop::sample::select(vec![
            "k1 = 'a.md'\n", "\"k2\" = \"b.md\"\r\n", "k3 = { path = 'c.md' }\n", "k4 = { path = \"d.md\", agents = [\n", "'p:a'] }\n",
            "\n", " # c\n", "k5 = \'\'\'\n", "\'\'\'\n", "k6 = \"\"\"\n", "\"\"\"\n", "\u{feff}", "[keys.k7]\npath = 'e.md'\n", " [keys]\n", "[keys]\n",
            "[bindings.b]\nkey = 'k1'\n", "k8.path = 'f.md'\n", "k9 = 'g.md'", "k-10 = 'h.md' # \u{e9}\n", "k11 = 'i.md'\n", "{", "]", "[", "\r",
            "title = 'x'\n", "path = 'j.md'\n", "\"k\\u0031\" = 'k.md'\n", "k12 = { path = 'l.md', max_bytes = 7 }\n", ",", "=", "'", "\"", ".",
        ]), 0..9),
        header in prop::sample::select(vec!["[keys]\n", "[keys]\n", "[ \"keys\" ] # c\n", "[[keys]]\n", "[keys]", ""]),
    ) {
        is_read(&format!("{}{header}{}", head.concat(), lines.concat()), &MOST);
    }

    #[test]
    fn of_any_text_of_the_marks_of_toml_both_say_the_same(
        marks in prop::collection::vec(prop::sample::select(vec![
            "[keys]\n", "[keys]\n", "[", "]", "{", "}", "=", ",", ".", "\"", "'", "\'\'\'", "\"\"\"", "\n", "\r\n", "\r", " ", "\t", "#",
            "keys", "k", "l", "path", "k = 'a.md'\n", "l = \"b.md\"", "'a.md'", "1", "\\", "\u{e9}", "\u{7}", "\u{feff}",
        ]), 0..24)
    ) {
        is_read(&marks.concat(), &MOST);
        is_read(&format!("[keys]\n{}", marks.concat()), &MOST);
    }
}
