//! What the user learns about the map, and what must not appear on the screen.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Report, check};
use crate::{terminal::plain, tests::live};
use keyhole_core::{Caller, Code, Key};
use keyhole_tree::Tree;
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
        let live = live(&self.0);
        let map = live.current();
        let load = async |key: &Key, _: &Caller| {
            let path = map.as_ref().unwrap().find(key).unwrap().path().to_owned();
            match path.split('.').next().unwrap() {
                "gone" => Err(Code::NotFound),
                "big" => Err(Code::TooLarge),
                "open" => Err(Code::Untrusted),
                _ => Ok("x".repeat(path.len())),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(check(&live, load))
    }

    /// `text` with names for this tree's paths.
    fn named(&self, text: &str) -> String {
        let (map, folder) = (self.0.map(), self.0.path(""));
        let folder = folder.to_str().unwrap().trim_end_matches('/');
        text.replace(map.to_str().unwrap(), "MAP")
            .replace(folder, "DIR")
    }

    fn text(&self) -> String {
        let text = plain(&self.check().to_text(false));
        self.named(&text)
    }

    fn json(&self) -> Value {
        let json = self.check().to_json().to_string();
        serde_json::from_str(&self.named(&json)).unwrap()
    }
}

const MIXED: &[u8] = b"[keys]
\"k-7f3a9c55aa01beef\" = \"a.md\"
short = \"gone.md\"
\"k-91c09c55aa01beef\" = { path = \"big.md\" }
";

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
                 "message": "nothing is at DIR/gone.md; create it, or fix the path in the map: a relative one starts at the map's directory"},
                {"line": 4, "path": "big.md", "bound": false, "weak_key": false, "ok": false, "bytes": null, "code": "too-large",
                 "message": "the file is larger than its limit"},
            ],
            "bindings": [],
            "agents": [],
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
            "agents": [],
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
        let report = home.check();
        let (text, json) = (report.to_text(false), report.to_json());
        let shown = format!("{text} {json} {report:?}");
        let map = String::from_utf8_lossy(map);
        assert!(!shown.to_lowercase().contains("secret"), "{map}: {shown}");
    }
}

#[test]
fn a_path_is_shown_if_it_ends_in_md_and_holds_no_key_of_the_map() {
    let home =
        Home::with(b"[keys]\nk-1 = 'a.md'\nk-2 = 'k-11.md'\nk-3 = 'gone'\nk-4 = '\xc3\xa9.md'\n");
    let report = home.check();
    let paths = report.outcome.as_ref().unwrap().iter();
    let paths: Vec<_> = paths.map(|entry| entry.path.as_deref()).collect();
    assert_eq!(paths, [Some("a.md"), None, None, Some("é.md")]);
    assert!(
        home.text()
            .contains("\n…: a path that holds a key, or does not end in .md, is not shown\n")
    );
    assert!(!Home::with(MIXED).text().contains('…'));
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let home = Home::with("[keys]\nk = \"\\u001b[2J\\u202e.md\"".as_bytes());
    assert!(home.text().contains("\\u{1b}[2J\\u{202e}.md"));
}

/// A path of the report that does not stand in the map, too.
#[test]
fn a_key_in_the_path_that_others_could_change_is_not_shown() {
    let tree = Tree::empty();
    tree.write("SECRET/open.md", "");
    tree.link("open.md", "SECRET/open.md");
    tree.mode("SECRET", 0o777);
    let root = tree.path("SECRET");
    tree.write(
        "map.toml",
        format!("roots = [{root:?}]\n[keys]\nSECRET = 'open.md'\n"),
    );
    let home = Home(tree);
    let (text, json) = (home.text(), home.json());
    assert!(
        text.contains("\n  line 3: what is in the way has a key in its path"),
        "{text}"
    );
    assert!(!format!("{text}{json}").contains("SECRET"), "{text} {json}");
}

/// Unless it is on a terminal. `plugin::shell` has the rest of what a session reads.
#[test]
fn the_plugin_is_told_of_its_agent_and_of_no_path() {
    let home = Home::with(b"[keys]\nkeyhole-privacy-catalog = 'gone.md'\n");
    for (is_private, names, more) in [
        (true, true, "not-found, line 2\n"),
        (false, false, "not-found, line 2; run the command above"),
    ] {
        let report = home.check();
        let report = report.for_the_plugin(&live(&home.0), "/p q/keyhole".as_ref(), is_private);
        let text = home.named(&plain(&report.to_text(false)));
        assert_eq!(text.contains("DIR/gone.md"), names, "{text}");
        assert_eq!(
            text.contains("terminal of your own: '/p q/keyhole' check\n"),
            !names
        );
        assert!(
            text.contains(&format!("\nkeyhole:privacy-scanner: {more}")),
            "{text}"
        );
    }
}

#[test]
fn the_plugins_agents_are_those_that_it_brings() {
    let plugin = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
    let manifest = std::fs::read_to_string(plugin.join(".claude-plugin/plugin.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let plugins = manifest["name"].as_str().unwrap();
    let files = std::fs::read_dir(plugin.join("agents")).unwrap();
    assert_eq!(files.count(), super::plugin::AGENTS.len());
    for (agent, key, path) in super::plugin::AGENTS {
        let name = agent.strip_prefix(&format!("{plugins}:")).unwrap();
        let text = std::fs::read_to_string(plugin.join(format!("agents/{name}.md"))).unwrap();
        assert!(text.contains(&format!("\nname: {name}\n")));
        assert!(text.contains(&format!("{{ \"key\": \"{key}\" }}")));
        let page = std::fs::read_to_string(plugin.join("README.md")).unwrap();
        let shown = format!("[keys.{key}]\n   path = \"{path}\"\n   agents = [\"{agent}\"]\n");
        assert!(page.contains(&shown), "{shown}");
    }
}

#[test]
fn a_session_is_told_of_a_map_that_cannot_be_used_and_of_nothing_else() {
    let brief = |home: &Home| super::brief(&live(&home.0));
    for (home, code) in [
        (Home::empty(), "map-missing"),
        (Home::with(b"[keys"), "map-invalid"),
    ] {
        let line: Value = serde_json::from_str(&brief(&home).unwrap()).unwrap();
        let said = line["systemMessage"].as_str().unwrap();
        assert!(said.starts_with(&format!("keyhole: {code}, ")), "{said}");
        assert_eq!(line.as_object().unwrap().len(), 1);
    }
    assert_eq!(brief(&Home::with(b"[keys]\nk = 'gone.md'\n")), None);
}

#[test]
fn the_closing_line_says_which_walls_stand_if_not_all_do_or_if_asked() {
    let mut report = Home::empty().check();
    for (landlock, system_calls, verbose, said) in [
        (
            Some(7),
            true,
            true,
            "second wall: writing, sockets, programs and other processes are out of the server's reach (Landlock ABI 7, system-call filter)\n",
        ),
        (Some(7), true, false, "name another\n"),
        (
            None,
            true,
            false,
            "second wall: not whole on this system (no Landlock, system-call filter)\n",
        ),
        (
            None,
            false,
            false,
            "second wall: none on this system; the sandbox is the only one\n",
        ),
    ] {
        report.wall = Some(keyhole_wall::Standing {
            landlock,
            system_calls,
        });
        let text = plain(&report.to_text(verbose));
        assert!(!cfg!(target_os = "linux") || text.ends_with(said), "{text}");
    }
}
