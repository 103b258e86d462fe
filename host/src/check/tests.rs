//! What the user is told about the map, and what is kept from the screen.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Report, check};
use crate::{
    Code,
    map::{Key, LiveMap, Location},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};
use tempfile::TempDir;

struct Home(TempDir);

impl Home {
    fn with(map: &[u8]) -> Self {
        let home = Self::empty();
        fs::write(home.map(), map).unwrap();
        fs::set_permissions(home.map(), fs::Permissions::from_mode(0o600)).unwrap();
        home
    }

    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn map(&self) -> std::path::PathBuf {
        self.0.path().join("map.toml")
    }

    /// A check in which a file's name says what comes of it.
    fn check(&self, show_keys: bool) -> Report {
        let live = LiveMap::new(Location::find(Some(&self.map()), |_| None).unwrap());
        let map = live.current();
        let load = async |key: &Key, _: &crate::Caller| {
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
        runtime.block_on(check(&live, show_keys, load))
    }

    fn text(&self, show_keys: bool) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        self.check(show_keys).write_text(&mut out).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        text.replace(self.map().to_str().unwrap(), "MAP")
    }

    fn json(&self, show_keys: bool) -> Value {
        let json = self.check(show_keys).to_json().unwrap();
        serde_json::from_str(&json.replace(self.map().to_str().unwrap(), "MAP")).unwrap()
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
        Home::with(MIXED).text(false),
        "map: MAP

RESULT     BYTES  LINE  KEY   PATH
ok             4     2  k-7…  a.md
not-found      -     3  …     gone.md
too-large      -     4  k-9…  big.md

not-found: nothing is there; create the file or mend the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory
too-large: the file is larger than its limit; shorten it or raise max_bytes
warning: a key of fewer than 16 characters, or fewer than 6 different ones, may be guessed: line 3
1 of 3 would be served.
"
    );
}

#[test]
fn the_json_has_its_stable_shape() {
    assert_eq!(
        Home::with(MIXED).json(false),
        json!({
            "map": "MAP",
            "ok": false,
            "entries": [
                {"key": "k-7…", "weak_key": false, "line": 2, "path": "a.md", "agents": null, "ok": true, "bytes": 4, "code": null, "message": null},
                {"key": "…", "weak_key": true, "line": 3, "path": "gone.md", "agents": null, "ok": false, "bytes": null, "code": "not-found",
                 "message": "nothing is there; create the file or mend the path, which is taken as written: only ~/ is expanded, and a relative one starts at the map's directory"},
                {"key": "k-9…", "weak_key": false, "line": 4, "path": "big.md", "agents": null, "ok": false, "bytes": null, "code": "too-large",
                 "message": "the file is larger than its limit; shorten it or raise max_bytes"},
            ],
            "bindings": [],
            "error": null,
        })
    );
    assert_eq!(
        Home::with(b"[keys]\nk = { path = 'a.md', agent = ['x'] }").json(false),
        json!({
            "map": "MAP",
            "ok": false,
            "bindings": null,
            "entries": null,
            "error": {"code": "map-invalid", "message": "unknown field", "line": 2, "column": 22, "help": "did you mean agents?"},
        })
    );
    let missing = Home::empty().json(false);
    assert_eq!(missing["error"]["code"], "map-missing");
    assert_eq!(missing["error"]["line"], Value::Null);
}

#[test]
fn the_exit_code_tells_served_from_refused_from_no_map() {
    for (map, code) in [
        (&b"[keys]\nweak = 'a.md'"[..], 0),
        (b"", 0),
        (MIXED, 1),
        (b"[keys", 2),
    ] {
        assert_eq!(Home::with(map).check(false).exit_code(), code);
    }
    assert_eq!(Home::empty().check(false).exit_code(), 2);
}

#[test]
fn a_mistake_is_pointed_at_and_the_line_hidden() {
    assert_eq!(
        Home::with("[keys]\n'k-SECRET' = { path = 'é.md', agent = ['x'] }".as_bytes()).text(false),
        "error: map-invalid: unknown field
 --> MAP:2:31
  |
2 | '********' = { **** = '****', ***** = ['*'] }
  |                               ^^^^^
  |
  = help: did you mean agents?
The text of the line is hidden, since it may hold a key; --show-keys shows it.
"
    );
}

#[test]
fn the_line_is_shown_to_whoever_asks_for_keys() {
    assert_eq!(
        Home::with(b"[keys]\n'k-1' = 'a.md'\n'k-1' = '\x1b[31mb.md'").text(true),
        "error: map-invalid: not TOML: invalid literal string, expected non-single-quote visible characters
 --> MAP:3:10
  |
3 | 'k-1' = '?[31mb.md'
  |          ^
  |
  = help: beneath [keys] each line reads \"KEY\" = \"PATH\", in straight quotes, a \\ written as \\\\, and no name stands twice
"
    );
}

#[test]
fn keys_appear_only_where_they_are_asked_for() {
    let long = format!("[keys]\n{} = 1", "SECRET".repeat(1000));
    for map in [
        &b"[keys]\n'SECRET-SECRET-SECRET' = 'a.md'\nSECRET = 'gone.md'"[..],
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
        long.as_bytes(),
    ] {
        let home = Home::with(map);
        let shown = format!(
            "{} {} {:?}",
            home.text(false),
            home.json(false),
            home.check(false)
        );
        assert!(!shown.contains("SECRET"), "{shown}");
    }
    let home = Home::with(b"[keys]\n'SECRET-SECRET-SECRET' = 'a.md'");
    assert!(home.text(true).contains("SECRET-SECRET-SECRET"));
    assert_eq!(home.json(true)["entries"][0]["key"], "SECRET-SECRET-SECRET");
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let home = Home::with("[keys]\nk = \"\\u001b[2J\\u202e.md\"".as_bytes());
    assert!(home.text(true).contains("\\u{1b}[2J\\u{202e}.md"));
    let home = Home::with("[keys]\n'\u{202e}k' = 1".as_bytes());
    let text = home.text(true);
    assert!(
        text.contains("'?k' = 1") && !text.contains('\u{202e}'),
        "{text}"
    );
}

#[test]
fn a_map_without_keys_is_said_to_be_one() {
    assert_eq!(
        Home::with(b"").text(false),
        "map: MAP\n\nThe map is valid and has no keys: every key is refused.\n"
    );
}
