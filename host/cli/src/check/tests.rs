//! What the user learns about the map, and what must not appear on the screen.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Report, Warning, check};
use crate::{terminal::plain, tests::live};
use keyhole_core::{Caller, Code, Key, LiveMap, Location};
use keyhole_tree::Tree;
use serde_json::{Value, json};
use std::sync::Arc;

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
                "blank" => Ok(" \n".to_owned()),
                _ => Ok("x".repeat(path.len())),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(check(&live, load))
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
fn the_table_shows_every_entry_and_what_to_do() {
    assert_eq!(
        Home::with(MIXED).text(),
        "map: MAP

RESULT       BYTES  LINE  PATH
ok               4     2  a.md
not-found        -     3  gone.md
too-large        -     4  big.md

not-found: nothing is there
  line 3: nothing is at DIR/gone.md; create it, or fix the path in the map: a relative one starts at the map's directory
too-large: the file is larger than its limit
  line 4: at most 1048576 bytes are allowed here; shorten the file, or raise max_bytes
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
                 "message": "nothing is at DIR/gone.md; create it, or fix the path in the map: a relative one starts at the map's directory"},
                {"line": 4, "path": "big.md", "bound": false, "weak_key": false, "ok": false, "bytes": null, "code": "too-large",
                 "message": "at most 1048576 bytes are allowed here; shorten the file, or raise max_bytes"},
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
            "error": {"code": "map-invalid", "message": "unknown field", "line": 2, "help": "an entry has path, max_bytes, agents"},
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
  help: an entry has path, max_bytes, agents
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
    let user = tree.path("user");
    tree.link("user/notes/link.md", user.join("b.md"));
    let location = Location::find(Some(&tree.map()), |name| {
        (name == "HOME").then(|| user.clone().into())
    });
    let live = Arc::new(LiveMap::new(location.unwrap()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let report = runtime.block_on(check(&live, async |_, _| Ok("x".to_owned())));
    let entries = report.outcome.as_ref().unwrap();
    let warned: Vec<_> = entries.iter().map(|entry| entry.warnings.len()).collect();
    assert_eq!(warned, [0, 1, 1, 1]);
    assert_eq!(entries[1].warnings, [Warning::WideDirectory]);
    assert_eq!(report.exit_code(), 0);
    let text = plain(&report.to_text(false));
    assert!(
        text.contains(
            "\nwarning: the file lies directly in your home, or above it: \
             `serve --sealed` would keep all of that directory readable; \
             move the file into a directory of its own: lines 3, 4, 5\n"
        ),
        "{text}"
    );
    let json = report.to_json();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 3);
    assert_eq!(json["warnings"][0]["line"], 3);
}

#[test]
fn a_map_without_keys_is_said_to_be_one() {
    assert_eq!(
        Home::with(b"").text(),
        "map: MAP\n\nThe map is valid and has no keys: every key is refused. `keyhole setup key FILE` prints one.\n"
    );
}

/// What others can change is the file, a directory above it, or one on the way to its link.
#[test]
fn what_others_could_change_is_named_in_both_reports() {
    for (made, opened, mode) in [
        ("open.md", "open.md", 0o666),
        ("d/open.md", "d", 0o777),
        ("d/e/open.md", "d", 0o777),
    ] {
        let home = Home::with(b"[keys]\nk-7f3a9c55aa01beef = 'open.md'\n");
        home.0.write(made, "");
        if made != "open.md" {
            home.0.link("open.md", made);
        }
        home.0.mode(opened, mode);
        let place = home.0.path(opened);
        assert!(place.starts_with(home.0.path("")));
        let said = format!(
            "others can write to DIR/{opened}, and so change what it leads to; run: chmod go-w DIR/{opened}; or keep"
        );
        let (text, json) = (home.text(), home.json());
        assert!(text.contains(&format!("\n  line 2: {said}")), "{text}");
        assert!(text.contains("\nuntrusted: only you and root"), "{text}");
        let message = json["entries"][0]["message"].as_str().unwrap();
        assert!(message.starts_with(&said), "{json}");
        assert_eq!(json["entries"][0]["code"], "untrusted");
    }
}

#[test]
fn a_root_that_others_could_have_put_there_is_warned_of() {
    let home = Home::empty();
    home.0.write("open/root/x", "");
    home.0.mode("open", 0o777);
    let roots = ["open/root", "gone", ""].map(|root| home.0.path(root));
    home.0.write(
        "map.toml",
        format!("roots = {roots:?}\n[keys]\nk-7f3a9c55aa01beef = 'a.md'\n"),
    );
    let open = home.0.path("open");
    assert!(open.is_dir());
    let said = "no file in this root is served: others can write to DIR/open";
    let (text, json) = (home.text(), home.json());
    assert_eq!(text.matches("no file in this root").count(), 1);
    assert!(text.contains(&format!("\nwarning: {said}")), "{text}");
    let warning = json["warnings"].as_array().unwrap().last().unwrap();
    assert!(warning["message"].as_str().unwrap().starts_with(said));
    assert_eq!(warning["line"], Value::Null);
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

#[test]
fn all_open_directories_on_the_way_are_in_one_command_in_quotes_if_they_need_them() {
    let home = Home::with(b"[keys]\nk-7f3a9c55aa01beef = 'open.a b/c/open.md'\n");
    home.0.write("open.a b/c/open.md", "");
    home.0.mode("open.a b", 0o777);
    home.0.mode("open.a b/c", 0o777);
    let text = home.text();
    let command = "; run: chmod go-w 'DIR/open.a b' 'DIR/open.a b/c'; or keep";
    assert!(text.contains(command), "{text}");
}

#[test]
fn where_a_path_leads_is_said_if_nothing_is_there_and_an_ending_by_its_cure() {
    let home =
        Home::with(b"[keys]\nk-7f3a9c55aa01bee1 = 'gone.d/a.md'\nk-7f3a9c55aa01bee2 = 'gone.md'\n");
    home.0.link("gone.md", "lost/b.md");
    let text = home.text();
    for said in [
        "line 2: nothing is at DIR/gone.d/a.md; create it, or fix the path in the map: a relative",
        "line 3: DIR/gone.md is a link to lost/b.md, where nothing is; create it",
    ] {
        assert!(text.contains(said), "{text}");
    }
    for (path, ending) in [("a.MD", "MD"), ("a.markdown", "markdown"), ("a.txt", "txt")] {
        let told = super::way::leads(Code::NotMarkdown, path, std::path::Path::new("/a"));
        let said = format!("its name ends in .{ending}: rename the file so that it ends in .md,");
        assert!(told.unwrap().0.starts_with(&said), "{path}");
    }
    assert!(super::way::leads(Code::NotMarkdown, "k-secret", std::path::Path::new("/a")).is_none());
}

#[test]
fn an_empty_file_is_warned_of() {
    let home = Home::with(b"[keys]\nk-7f3a9c55aa01beef = 'blank.md'\n");
    assert!(
        home.text().contains("\nwarning: the file is empty: "),
        "{}",
        home.text()
    );
    assert_eq!(home.check().exit_code(), 0);
}

/// The map, whether the scanner would be served, and what is said of it.
const OF_THE_PLUGIN: [(&[u8], bool, &str); 6] = [
    (
        b"keyhole-privacy-catalog = { path = 'a.md', agents = ['keyhole:privacy-scanner'] }",
        true,
        "would be served, line 2",
    ),
    (
        b"keyhole-privacy-catalog = 'a.md'",
        true,
        "would be served, and so would any other agent: write agents = [\"keyhole:privacy-scanner\"] on line 2",
    ),
    (
        b"keyhole-privacy-catalog = { path = 'a.md', agents = ['privacy-scanner'] }",
        false,
        "line 2 has its key, but for other agents: write agents = [\"keyhole:privacy-scanner\"] there",
    ),
    (
        b"keyhole-privacy-catalog = { path = 'gone.md', agents = ['keyhole:privacy-scanner'] }",
        false,
        "not-found, line 2",
    ),
    (
        b"keyhole-privacy-catalogue = 'a.md'",
        false,
        "the map has no entry with its key. Put this at its end, with the path of your file:\n\n[keys.keyhole-privacy-catalog]\n",
    ),
    (
        b"k-2c1f8a96d0e34b57 = 'a.md'",
        false,
        "the map has no entry with its key.",
    ),
];

#[test]
fn the_plugin_is_told_of_its_agent_and_of_no_path() {
    for (entry, is_served, said) in OF_THE_PLUGIN {
        let home = Home::with(&[b"[keys]\n", entry, b"\n[bindings.named]\nkey = 'x'\n"].concat());
        let report = |is_private| {
            let report = home.check();
            report.for_the_plugin(&live(&home.0), "/p/bin/keyhole".as_ref(), is_private)
        };
        let text = home.named(&plain(&report(false).to_text(false)));
        assert!(
            text.contains(&format!("\nkeyhole:privacy-scanner: {said}")),
            "{text}"
        );
        assert_eq!(report(false).agents[0].is_served, is_served, "{text}");
        assert!(
            text.contains("In a terminal of your own: '/p/bin/keyhole' check\n"),
            "{text}"
        );
        for private in ["a.md", "gone.md", "named"] {
            let json = report(false).to_json().to_string();
            assert!(
                !text.contains(private) && !json.contains(private),
                "{text} {json}"
            );
        }
        let text = report(true).to_text(false);
        assert!(
            text.contains(".md") && !text.contains("of your own"),
            "{text}"
        );
    }
}

#[test]
fn of_a_map_that_cannot_be_used_the_plugin_is_told_that_first() {
    let home = Home::with(b"[keys");
    let report = home.check();
    let report = report.for_the_plugin(&live(&home.0), "/p/bin/keyhole".as_ref(), false);
    let text = plain(&report.to_text(false));
    assert!(
        text.contains("\nkeyhole:privacy-scanner: map-invalid\n"),
        "{text}"
    );
    assert_eq!(report.exit_code(), 2);
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

/// A home with these settings, and what `check` says is missing in them.
#[test]
fn settings_that_deny_too_little_are_told_of() {
    let temporary = format!(
        "Read(/{})",
        std::env::temp_dir().join("claude-*/**").display()
    );
    let all = &*format!(r#""Read(~/.claude/projects/**)", "{temporary}""#);
    for (deny, missing) in [
        (
            "",
            &*format!("Read(~/.claude/projects/**) and {temporary} and Read(FOLDER/**)"),
        ),
        (all, "lacks Read(FOLDER/**) for the folder of your file;"),
        (&*format!("{all}, \"Read(~/private/**)\""), ""),
        (&*format!("{all}, \"Read(~/private/a.md)\""), ""),
        (&*format!(r#""Read(~/**)", "{temporary}""#), ""),
        (
            &*format!("{all}, \"Read(~/other/**)\""),
            "lacks Read(FOLDER/**)",
        ),
    ] {
        let tree = Tree::with("[keys]\nkeyhole-privacy-catalog = '~/private/a.md'\n");
        tree.write(
            ".claude/settings.json",
            format!(r#"{{"permissions":{{"deny":[{deny}]}}}}"#),
        );
        let home = tree.path("");
        let location = Location::find(Some(&tree.map()), |name| {
            (name == "HOME").then(|| home.clone().into())
        });
        let location = location.unwrap();
        let map = LiveMap::new(location.clone()).current().unwrap();
        let said = super::plugin::missing_rules(&location, &map);
        assert_eq!(said.is_none(), missing.is_empty(), "{said:?}");
        assert!(said.unwrap_or_default().contains(missing));
    }
}

#[test]
fn the_closing_line_says_which_walls_stand_if_not_all_do_or_if_asked() {
    let home = Home::empty();
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
        let mut report = home.check();
        report.wall = Some(keyhole_wall::Standing {
            landlock,
            system_calls,
        });
        let text = plain(&report.to_text(verbose));
        assert!(!cfg!(target_os = "linux") || text.ends_with(said), "{text}");
        assert_eq!(
            report.to_json()["second_wall"],
            json!({"landlock": landlock, "system_calls": system_calls})
        );
    }
}
