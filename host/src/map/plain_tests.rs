//! What is cut out of a map and read here says what the parser says of all of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::super::{Location, Map};
use proptest::prelude::*;
use std::{ffi::OsString, fs, path::Path};

fn location() -> Location {
    Location::find(Some(Path::new("/maps/m.toml")), |name| {
        (name == "HOME").then(|| OsString::from("/home/u"))
    })
    .unwrap()
}

/// Whether plain lines were cut out. If so, it is the same map without.
fn is_cut(text: &str) -> bool {
    let Some(map) = Map::parse_split(text, &location()) else {
        return false;
    };
    let Ok(whole) = Map::parse_whole(text, &location()) else {
        panic!("only the parser refuses this: {text}")
    };
    assert!(map.is_as(&whole), "the parser reads another map: {text}");
    true
}

#[test]
fn plain_lines_are_cut_out_wherever_they_stand_among_others() {
    for text in [
        "[keys]\na = 'a.md'",
        "[keys]\na = 'a.md'\n\"b c\\u0041\" = 'b.md'",
        "\n \t[keys]  # all of them\r\n\ta = \"a.md\" \r\n'b'=\"b.md\"\r\n",
        "roots = [\n  '/a', # one\n  '/b',\n]\nmax_bytes = 7\n[keys]\na = 'a.md'\n",
        "[keys]\na = 'a.md'\nb = { path = 'b.md' }\n# c\n\nc = 'c.md' # d\nd = 'd.md'\n",
        "[keys.x]\npath = 'x.md'\n[keys]\na = 'a.md'\n[keys.y]\npath = 'y.md'\n",
        "[keys]\na = 'a.md'\n[bindings.b]\nkey = 'a'\ntitle = '''two\nlines'''\n",
        "[bindings.b]\nkey = 'a'\n[keys]\na = 'a.md'\nb = { path = 'b', agents = ['c'] }\n",
    ] {
        // Wrong maps are the parser's, right ones are cut.
        let is_map = Map::parse_whole(text, &location()).is_ok();
        assert_eq!(is_cut(text), is_map, "{text}");
    }
}

#[test]
fn a_line_that_only_looks_plain_is_the_parsers() {
    for text in [
        // In a text of several lines, which holds the header too, or begins after it.
        "x = '''\n[keys]\na = 'a.md'\n'''\n",
        "x = '''\n[keys]\na = 'a.md'\n'''\n[keys]\nb = 'b.md'\n",
        "[bindings.b]\nkey = 'k'\ntitle = '''\n[keys]\na = 'a.md'\n'''\n[keys]\nb = 'b.md'\n",
        "[keys]\nx = \"\"\"\na = 'a.md'\n\"\"\"\n",
        // In a table or list of several lines.
        "[keys]\nx = {\npath = 'a.md'\n}\n",
        "[keys]\nx = [\na = 'a.md'\n]\n",
        "[keys]\nx =\na = 'a.md'\n",
        // Beneath another header, or more than one.
        "[keys.b]\npath = 'a.md'\n",
        "[[keys]]\npath = 'a.md'\n",
        "[keys]\na = 'a.md'\n[keys]\n",
        "[keys]\na = 'a.md'\n[[keys]]\n",
        "keys.b = 'b.md'\n[keys]\na = 'a.md'\n",
        "keys = {}\n[keys]\na = 'a.md'\n",
        // A name twice.
        "[keys]\na = 'a.md'\n'a' = 'b.md'\n",
        "[keys]\na = 'a.md'\n\"\\u0061\" = 'b.md'\n",
        "[keys]\na = 'a.md'\na.path = 'b.md'\n",
        "[keys]\na = 'a.md'\n[keys.a]\npath = 'b.md'\n",
        "[keys.a]\npath = 'b.md'\n[keys]\na = 'a.md'\n",
        // Wrong anywhere.
        "[keys]\na = 'a.md'\nb\n",
        "[keys]\na = 'a.md'\n# \u{7}\n",
        "[keys]\na = 'a.md'\r# x\rb = 'b.md'\n",
        "[keys]\na = 'a.md' b = 'b.md'\n",
        "[keys] a = 'a.md'\nb = 'b.md'\n",
        "[keys]\na = ''\nb = 'b.md'\n",
        "[keys]\na = '~x/a.md'\n",
        "[keys]\n'' = 'a.md'\n",
        "[keys]\n'a b' = 'a.md'\n",
        "[keys]\na = 'a.md'\n[other]\n",
        "[keys]\na = \"a\tb.md\"\n",
        "[keys]\na = 'a.md'\nb = 1\n",
    ] {
        assert!(!is_cut(text), "{text}");
    }
}

#[test]
fn the_corpus_of_the_fuzzer_is_read_the_same() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/map");
    let mut cut = 0;
    for file in fs::read_dir(corpus).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        cut += usize::from(is_cut(&text));
    }
    assert!(cut > 2, "{cut}");
}

/// Of what stands in a map, and of what could be taken for it.
fn line() -> impl Strategy<Value = String> {
    let pieces = [
        "[keys]",
        " [keys] # c",
        "[keys.a]",
        "[[keys]]",
        "[bindings.b]",
        "[other]",
        "",
        "  ",
        "# c",
        "a = 'a.md'",
        "'b' = \"b.md\"",
        "\tc\t=\t'c.md'\t",
        "d = 'd.md' # d",
        "\"e.f\" = '~/e.md'",
        "g = { path = 'g.md' }",
        "h = { path = 'h.md', agents = ['x'], max_bytes = 7 }",
        "i.path = 'i.md'",
        "path = 'p.md'",
        "key = 'a'",
        "title = '''",
        "'''",
        "\"\"\"",
        "x = \"\"\"",
        "j = {",
        "}",
        "k = [",
        "]",
        "max_bytes = 9",
        "roots = [",
        "'/r',",
        "roots = ['/r']",
        "l = 1",
        "m",
        "'n' = 'n\\.md'",
        "o = \"o\\\\.md\"",
        "é = 'é.md'",
        "'p' = 'é.md'",
        "\u{feff}",
        "q = 'q.md'\r",
        "r = ''",
        "keys = {}",
        "keys.s = 's.md'",
    ];
    prop::sample::select(pieces.map(String::from).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_order_of_lines_makes_another_map_of_what_is_cut(
        lines in prop::collection::vec((line(), prop::sample::select(vec!["\n", "\r\n", "\n", ""])), 0..14),
        begins in any::<bool>(),
    ) {
        let mut text = String::from(if begins { "[keys]\n" } else { "" });
        text.extend(lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]));
        is_cut(&text);
    }
}
