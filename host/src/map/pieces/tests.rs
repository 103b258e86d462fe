//! A map that is read in pieces is the map that is read as a whole.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Location, Map, PIECE, read};
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
    let mut said = format!("{:?} {}", map.roots, map.max_bytes);
    for (key, entry) in map.entries() {
        assert!(std::ptr::eq(map.find(key).unwrap(), entry));
        said += &format!(
            "\n{} {} {} {:?} {:?}",
            key.expose(),
            entry.path,
            entry.max_bytes,
            entry.agents,
            (entry.at.line, entry.at.byte)
        );
    }
    for (name, binding) in map.bindings() {
        said += &format!("\n{name} {:?} {}", binding.title(), binding.line());
    }
    said
}

/// Whether a text is read in pieces of each of these sizes. If it is, then as a whole too,
/// and both say the same.
fn is_read(text: &str, sizes: &[usize]) -> Vec<bool> {
    let whole = Map::parse_whole(text, &location());
    sizes
        .iter()
        .map(|size| match (read(text, &location(), *size), &whole) {
            (None, _) => false,
            (Some(map), Ok(whole)) => {
                assert_eq!(said(&map), said(whole), "{size}: {text}");
                true
            }
            (Some(_), Err(error)) => panic!("{size}: {error}: {text}"),
        })
        .collect()
}

const SIZES: [usize; 5] = [1, 24, 60, 200, PIECE];

fn is_read_in_pieces(text: &str) -> bool {
    let read = is_read(text, &SIZES);
    assert!(
        read.iter().all(|is_read| *is_read == read[0]),
        "{read:?}: {text}"
    );
    read[0]
}

#[test]
fn a_map_of_100_000_keys_is_read_in_pieces_that_fit_in_a_cache() {
    let mut text = String::from("max_bytes = 7\n[keys]\n");
    for n in 0..100_000 {
        text.push_str(&format!("\"k-{n:032x}\" = \"notes/{n}.md\"\n"));
    }
    text.push_str("[bindings.b]\nkey = 'x'\n");
    let cuts = super::Cuts::of(&text, PIECE).unwrap();
    assert!(cuts.pieces.iter().all(|(piece, _)| piece.len() <= PIECE));
    assert!(cuts.pieces.len() < 2 * text.len() / PIECE);
    assert_eq!(is_read(&text, &[PIECE]), [true]);
}

#[test]
fn what_people_write_is_read_in_pieces() {
    for text in [
        "[keys]\nk1 = 'a.md'\n\"k2\" = \"b.md\"\nk3 = '''c.md'''\n",
        "# Mine\nroots = [\n  '~/notes',\n]\nmax_bytes = 9\n\n[keys] # mine too\n",
        "roots = ['~/notes']\r\n[keys]\r\nk1 = 'a.md'\r\n\r\n# A comment.\r\nk2 = 'b.md' # another\r\n",
        "[bindings.b]\nkey = 'k1'\ntitle = 'T'\n[keys]\nk1 = 'a.md'\nk2 = 'b.md'",
        "[keys]\nk1 = { path = 'a.md', agents = ['p:a'] }\n\"k.2\" = { path = 'b.md', max_bytes = 3 }\n\n[bindings.b]\nkey = 'k1'\n",
        "[keys]\nk1 = 'a.md'\n\t[keys.k2]\n\tpath = 'b.md'\n[bindings.b]\nkey_env = 'B'\n",
    ] {
        let is_simple = text.lines().any(|line| line == "[keys]");
        assert_eq!(is_read_in_pieces(text), is_simple, "{text}");
    }
}

#[test]
fn what_a_piece_alone_would_not_mean_is_left_to_the_whole() {
    for text in [
        // A name twice, by each way to write one.
        "[keys]\nk = 'a.md'\nl = 'b.md'\nk = 'c.md'\n",
        "[keys]\nk = 'a.md'\nl = 'b.md'\n\"\\u006b\" = 'c.md'\n",
        "[keys]\nk = 'a.md'\nl = 'b.md'\n[keys.k]\npath = 'c.md'\n",
        "[keys.k]\npath = 'c.md'\n[keys]\nl = 'b.md'\nk = 'a.md'\n",
        "[keys]\nk = 'a.md'\n[bindings.b]\nkey = 'k'\n[keys]\nl = 'b.md'\n",
        // A table that a dot opens, and that goes on elsewhere.
        "[keys]\nk.path = 'a.md'\nl = 'b.md'\nk.max_bytes = 3\n",
        "keys.k = 'a.md'\n[keys]\nl = 'b.md'\n",
        // Text that looks like what it is not.
        "[bindings.b]\nkey = 'k'\ntitle = '''\n[keys]\nk = 'a.md'\n'''\n",
        "title = \"\"\"\n[keys]\nk = 'a.md'\n[\"\"\"\n",
        "roots = [\"\"\"/x\n[keys]\n\nk = '/a.md'\n[\"\"\"]\n",
        "roots = ['/a',\n[keys]\n]\n",
        // Only a document may begin with this.
        "[keys]\n\u{feff}k = 'a.md'\n",
        "[keys]\nl = 'b.md'\n\u{feff}k = 'a.md'\n",
        // Mistakes.
        "[keys]\nk = 'a.md'\nl = 7\n",
        "[keys]\nk = 'a.md'\nl = 'b.md' m = 'c.md'\n",
        "[keys]\nk = 'a.md'\nroots = ['/']\n",
        "[key]\n[keys]\nk = 'a.md'\n",
        "[keys]\nk = 'a.md'\n[keys.l]\n",
        "[keys]\nk = \"\"\"\na.md\n\nl = 'b.md'\"\"\"\n\u{7}\n",
    ] {
        assert!(!is_read_in_pieces(text), "{text}");
    }
    // A value of many lines is whole only in a piece that holds all of it.
    let long =
        "[keys]\nk = { path = \"\"\"\na.md\"\"\" }\nl = { path = 'b.md', agents = [\n'p:a',\n] }\n";
    assert_eq!(is_read(long, &[1, PIECE]), [false, true]);
    // One that holds a line like a header never is.
    let header = "[keys]\nk = { path = 'b.md', agents = [\n'p:a', # \n  ] }\nl = '''\n[keys]'''\n";
    assert!(!is_read_in_pieces(header));
}

#[test]
fn the_seams_of_a_large_map_are_where_it_says() {
    let mut text = String::from("# One\nroots = ['/n']\n[keys]\n");
    for n in 0..2000 {
        let rest = ["", " # no", "\n", "\r"][n % 4];
        text.push_str(&format!("  \"k-{n}\" = \"/n/{n}.md\"{rest}\n"));
    }
    text.push_str("[keys.last]\npath = '/n/last.md'\n[bindings.b]\nkey = 'last'\n");
    assert!(is_read_in_pieces(&text));
}

proptest! {
    #[test]
    fn in_pieces_or_as_a_whole_a_map_says_the_same(
        head in prop::collection::vec(prop::sample::select(vec![
            "roots = ['/a']\n", "max_bytes = 5\n", "# c\n", "roots = [\n", "roots = ['''/a\n", "\u{feff}", "[bindings.a]\nkey = 'k1'\n",
            "[keys.k9]\npath = 'a.md'\n", "title = \"\"\"\n", "]\n", "''']\n", "keys.a = 'b'\n",
        ]), 0..3),
        lines in prop::collection::vec(prop::sample::select(vec![
            "k1 = 'a.md'\n", "\"k2\" = \"b.md\"\r\n", "k3 = { path = 'c.md' }\n", "k4 = { path = \"d.md\", agents = [\n", "'p:a'] }\n",
            "\n", " # c\n", "k5 = '''\n", "'''\n", "k6 = \"\"\"\n", "\"\"\"\n", "\u{feff}", "[keys.k7]\npath = 'e.md'\n", " [keys]\n", "[keys]\n",
            "[bindings.b]\nkey = 'k1'\n", "k8.path = 'f.md'\n", "k9 = 'g.md'", "k-10 = 'h.md' # \u{e9}\n", "k11 = 'i.md'\n", "{", "]", "[", "\r",
            "title = 'x'\n", "path = 'j.md'\n", "\"k\\u0031\" = 'k.md'\n",
        ]), 0..9)
    ) {
        let text = format!("{}[keys]\n{}", head.concat(), lines.concat());
        is_read(&text, &SIZES);
    }
}
