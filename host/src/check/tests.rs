//! What the user learns about the map, and what must not appear on the screen.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Report, Warning, check};
use crate::{
    code::Code,
    map::{Key, LiveMap, Location, tests::Tree},
};
use serde_json::{Value, json};

struct Home(Tree);

impl Home {
    fn with(map: &[u8]) -> Self {
        Self(Tree::with(map))
    }

    fn empty() -> Self {
        Self(Tree::empty())
    }

    /// A check in which a file's name decides its result.
    fn check(&self) -> Report {
        let live = self.0.live();
        let map = live.current();
        let load = async |key: &Key, _: &crate::caller::Caller| {
            let path = map.as_ref().unwrap().find(key).unwrap().path().to_owned();
            match path.split('.').next().unwrap() {
                "gone" => Err(Code::NotFound),
                "big" => Err(Code::TooLarge),
                _ => Ok(path.len() as u64),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(check(&live, load))
    }

    fn text(&self) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        self.check().write_text(&mut out).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        text.replace(self.0.map().to_str().unwrap(), "MAP")
    }

    fn json(&self) -> Value {
        let json = self.check().to_json().unwrap();
        serde_json::from_str(&json.replace(self.0.map().to_str().unwrap(), "MAP")).unwrap()
    }
}

const MIXED: &[u8] = b"[keys]
\"k-7f3a9c55aa01beef\" = \"a.md\"
short = \"gone.md\"
\"k-91c09c55aa01beef\" = { path = \"big.md\" }
";

#[test]
fn the_table_shows_every_entry_and_what_to_do() {
    assert_eq!(
        Home::with(MIXED).text(),
        "map: MAP

RESULT     BYTES  LINE  PATH
ok             4     2  a.md
not-found      -     3  gone.md
too-large      -     4  big.md

not-found: nothing is there; create the file or fix the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory
too-large: the file is larger than its limit; shorten it or raise max_bytes
warning: a key of fewer than 16 characters, or fewer than 6 different ones, may be guessed: line 3
1 of 3 would be served.
"
    );
}

#[test]
fn the_json_has_its_stable_shape() {
    assert_eq!(
        Home::with(MIXED).json(),
        json!({
            "map": "MAP",
            "ok": false,
            "entries": [
                {"line": 2, "path": "a.md", "bound": false, "weak_key": false, "ok": true, "bytes": 4, "code": null, "message": null},
                {"line": 3, "path": "gone.md", "bound": false, "weak_key": true, "ok": false, "bytes": null, "code": "not-found",
                 "message": "nothing is there; create the file or fix the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory"},
                {"line": 4, "path": "big.md", "bound": false, "weak_key": false, "ok": false, "bytes": null, "code": "too-large",
                 "message": "the file is larger than its limit; shorten it or raise max_bytes"},
            ],
            "bindings": [],
            "warnings": [{"line": 3, "message": "a key of fewer than 16 characters, or fewer than 6 different ones, may be guessed"}],
            "error": null,
            "second_wall": null,
        })
    );
    assert_eq!(
        Home::with(b"[keys]\nk = { path = 'a.md', agent = ['x'] }").json(),
        json!({
            "map": "MAP",
            "ok": false,
            "bindings": null,
            "entries": null,
            "warnings": null,
            "error": {"code": "map-invalid", "message": "unknown field", "line": 2, "help": "did you mean agents?"},
            "second_wall": null,
        })
    );
    let missing = Home::empty().json();
    assert_eq!(missing["error"]["code"], "map-missing");
    assert_eq!(missing["error"]["line"], Value::Null);
}

#[test]
fn of_a_mistake_the_line_is_told_and_no_more() {
    assert_eq!(
        Home::with("[keys]\n'k-SECRET' = { path = 'é.md', agent = ['x'] }".as_bytes()).text(),
        "error: map-invalid: unknown field
  --> MAP:2
  help: did you mean agents?
"
    );
}

#[test]
fn no_key_is_shown_wherever_it_stands() {
    let long = format!("[keys]\n{} = 1", "SECRET".repeat(1000));
    for map in [
        // The secret as a key, and in other places.
        &b"[keys]\n'SECRET-SECRET-SECRET' = 'a.md'\nSECRET = 'gone.md'"[..],
        b"[keys]\nSECRET = 'dir/SECRET.md'",
        b"[keys]\nSECRET = 'SECRET/a.md'",
        b"[keys]\n'a.md' = 'SECRET'",
        b"[keys]\n'~/a.md' = 'k-SECRET-SECRET'",
        b"[keys]\n'k' = { path = 'a.md', agents = ['SECRET'] }",
        b"[keys]\n'k' = { path = 'a.md', agents = ['x:y', 'k-SECRET'] }",
        b"[bindings.b]\nkey = 'SECRET'\n[keys]\n'k' = 'SECRET.md'",
        b"[keys]\nsecret = 'a.md'\nshort = 'x/secret.md'\n[bindings.secret]\nkey = 'short'",
        b"[bindings.b]\nkey = 'SECRET'\ntitle = 'SECRET'",
        b"[bindings.b]\nkey_file = 'SECRET'",
        b"[bindings.b]\nkey_env = 'SECRET'",
        b"roots = ['/SECRET']\n[keys]\nk = 'a.md'",
        // The secret in an invalid map.
        b"[keys]\nSECRET = 1",
        b"[keys]\nSECRET = 'a.md'\nSECRET = 'a.md'",
        b"[keys]\nSECRET.md = 'a.md'",
        b"[keys]\n'SECRET = 'a.md'",
        b"[keys]\nSECRET\n",
        b"SECRET = 'a.md'",
        b"[SECRET]",
        b"[keys]\nk = '''\nSECRET",
        b"[keys]\nSECRET\xff = 'a.md'",
        b"# SECRET \x00",
        b"max_bytes = SECRET",
        b"roots = [SECRET]",
        b"[keys]\nk = \"\\SECRET\"",
        b"[keys]\nk = {SECRET = 1}",
        b"[keys]\nk = {path = 'a.md', SECRET = 1}",
        b"[keys]\nk.SECRET = 1\nk = 1",
        b"[keys]\nk = 1\nk.SECRET = 1",
        b"[keys.SECRET]\n[keys.SECRET]",
        b"[bindings.SECRET]",
        b"[bindings.b]\nSECRET = 1",
        b"[bindings.b]\nkey = 1979-SECRET",
        long.as_bytes(),
    ] {
        let home = Home::with(map);
        let (text, json) = (home.text(), home.json().to_string());
        let shown = format!("{text} {json} {:?}", home.check());
        let map = String::from_utf8_lossy(map);
        assert!(!shown.to_lowercase().contains("secret"), "{map}: {shown}");
    }
}

#[test]
fn a_path_is_shown_if_it_ends_in_md_and_holds_no_key_of_the_map() {
    let home =
        Home::with(b"[keys]\nk-1 = 'a.md'\nk-2 = 'k-11.md'\nk-3 = 'gone'\nk-4 = '\xc3\xa9.md'\n");
    let report = home.check();
    let paths = report.entries().unwrap().iter();
    let paths: Vec<_> = paths.map(|entry| entry.path.as_deref()).collect();
    assert_eq!(paths, [Some("a.md"), None, None, Some("é.md")]);
    assert!(
        home.text()
            .contains("\n…: a path that holds a key, or does not end in .md, is not shown\n")
    );
    assert!(!Home::with(MIXED).text().contains('…'));
}

#[test]
fn of_a_bound_key_it_is_said_that_it_is_bound() {
    let home = Home::with(b"[keys]\nk-7f3a9c55aa01beef = { path = 'a.md', agents = ['x:y'] }");
    let text = home.text();
    assert!(
        text.contains("whose names cannot be checked here: line 2.\n"),
        "{text}"
    );
    assert_eq!(home.json()["entries"][0]["bound"], true);
}

/// If no file has the name, the name may be something else, such as a key.
#[test]
fn a_named_map_that_is_not_there_is_not_named_back() {
    let home = Home::empty();
    assert_eq!(
        home.text(),
        "error: map-missing: there is no map where --map says; create it, or name another\n"
    );
    let json = home.json();
    assert_eq!(json["map"], Value::Null);
    assert!(!json.to_string().contains("MAP"), "{json}");
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let home = Home::with("[keys]\nk = \"\\u001b[2J\\u202e.md\"".as_bytes());
    assert!(home.text().contains("\\u{1b}[2J\\u{202e}.md"));
}

/// Files in several places relative to the home, and whether the check warns of
/// them.
#[test]
fn a_file_that_lies_in_a_home_itself_or_above_is_warned_of() {
    let tree = Tree::with(
        "[keys]\n\
         k-7f3a9c55aa01bee1 = '~/notes/a.md'\n\
         k-7f3a9c55aa01bee2 = '~/b.md'\n\
         k-7f3a9c55aa01bee3 = 'c.md'\n\
         k-7f3a9c55aa01bee4 = '~/notes/link.md'\n",
    );
    for file in ["user/notes/a.md", "user/b.md", "c.md"] {
        tree.write(file, "");
    }
    let user = tree.path("user").canonicalize().unwrap();
    std::os::unix::fs::symlink(user.join("b.md"), user.join("notes/link.md")).unwrap();
    let live = LiveMap::new(
        Location::find(Some(&tree.map().canonicalize().unwrap()), |name| {
            (name == "HOME").then(|| user.clone().into())
        })
        .unwrap(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let report = runtime.block_on(check(&live, async |_, _| Ok(0)));
    let entries = report.entries().unwrap();
    let warned: Vec<_> = entries.iter().map(|entry| entry.warnings.len()).collect();
    assert_eq!(warned, [0, 1, 1, 1]);
    assert_eq!(entries[1].warnings, [Warning::WideDirectory]);
    assert_eq!(report.exit_code(), 0);
    let mut out = anstream::StripStream::new(Vec::new());
    report.write_text(&mut out).unwrap();
    let text = String::from_utf8(out.into_inner()).unwrap();
    assert!(
        text.contains(
            "\nwarning: the file lies directly in your home, or above it: \
             `serve --sealed` would keep all of that directory readable; \
             move the file into a directory of its own: lines 3, 4, 5\n"
        ),
        "{text}"
    );
    let json: Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 3);
    assert_eq!(json["warnings"][0]["line"], 3);
}

#[test]
fn a_map_without_keys_is_said_to_be_one() {
    assert_eq!(
        Home::with(b"").text(),
        "map: MAP\n\nThe map is valid and has no keys: every key is refused.\n"
    );
}
