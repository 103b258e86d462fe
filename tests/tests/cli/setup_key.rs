//! `keyhole setup key`: an entry for the map, with a fresh key.

use keyhole_tests::World;
use std::{fs, path::PathBuf};

#[test]
fn an_entry_may_be_put_at_the_end_of_any_map() {
    for earlier in [
        "",
        "[keys]\n",
        "[keys]\n\"k-2c1f8a96d0e34b57\" = '~/notes/a.md'",
        "max_bytes = 9\n",
        "[keys]\n\"k-2c1f8a96d0e34b57\" = '~/notes/a.md'\n\n[bindings.b]\npath = '~/notes/a.md'",
        "[keys.\"k-2c1f8a96d0e34b57\"]\npath = '~/notes/a.md'\n# the end",
    ] {
        let world = World::new().file("notes/a.md", "a").map(earlier);
        let ran = world.run(["setup", "key", "~/notes/a.md"]).exits(0);
        world.write_map(format!("{earlier}{}", ran.says_nothing_on_stderr().stdout));
        let _ = world.run(["check"]).exits(0).conceals("may be guessed");
        let key = fs::read_to_string(world.map_path()).unwrap();
        let key = key.rsplit("[keys.\"").next().unwrap().split('"').next();
        let mut session = world.client();
        session.load(key.unwrap()).is("a");
        session.end();
    }
}

/// The shell makes the map before the program looks for one.
#[test]
fn an_appended_entry_that_is_a_maps_first_brings_the_roots() {
    const MAP: &str = "~/.config/keyhole/context-map.toml";
    for (begin, has_roots) in [
        ("", true),
        ("echo '# mine' >", true),
        ("echo 'max_bytes = 9' >", true),
        ("echo '[keys]' >", false),
        ("printf '# mine' >", false),
        ("echo 'roots = [\"~/notes\"]' >", true),
    ] {
        let world = World::new().file("notes/a.md", "a");
        let begin = if begin.is_empty() {
            ":"
        } else {
            &format!("{begin} {MAP}")
        };
        let append = format!("keyhole setup key ~/notes/a.md >> {MAP}");
        let command = format!("mkdir -p ~/.config/keyhole && {begin} && {append}");
        let _ = world.typed(&command).exits(0).says("");
        let map = fs::read_to_string(world.map_path()).unwrap();
        assert_eq!(
            map.matches("roots = ").count(),
            usize::from(has_roots),
            "{map}"
        );
        let _ = world.run(["check"]).exits(0);
    }
}

#[test]
fn each_key_is_another_and_strong() {
    let world = World::new().file("notes/a.md", "a");
    let fresh = || {
        let ran = world.run(["setup", "key", "~/notes/a.md"]).exits(0);
        // There is no map, so this is the beginning of one.
        let begins = "roots = [\"~/notes\"]\n\n[keys.\"k-";
        let key = ran.stdout.strip_prefix(begins).unwrap();
        let (key, rest) = key.split_at(32);
        assert!(key.bytes().all(|b| b.is_ascii_hexdigit()), "{ran:#?}");
        assert_eq!(rest, "\"]\npath = \"~/notes/a.md\"\n");
        key.to_owned()
    };
    assert_ne!(fresh(), fresh());
}

#[test]
fn the_file_is_written_as_it_means_the_same_in_the_map() {
    let world = World::new()
        .file("notes/o'd \"d\\é.md", "odd")
        .file("a.md", "a");
    let odd = world.path("notes/o'd \"d\\é.md");
    for (file, path) in [
        (PathBuf::from("notes/o'd \"d\\é.md"), odd.clone()),
        (odd.clone(), odd),
        ("./a.md".into(), world.path("a.md")),
        ("~/a.md".into(), "~/a.md".into()),
    ] {
        let file = file.to_str().unwrap();
        let ran = world.run(["setup", "key", file]).exits(0);
        let map: toml::Table = toml::from_str(&ran.stdout).unwrap();
        let (_, entry) = map["keys"].as_table().unwrap().iter().next().unwrap();
        let shown = path.to_str().unwrap();
        let shown = shown.replace(world.home().to_str().unwrap(), "HOME");
        assert_eq!(entry["path"].as_str(), Some(&*shown));
    }
    for file in ["", "a\nb.md", "a\u{202e}.md"] {
        let ran = world.run(["setup", "key", file]).says("");
        assert!(matches!(ran.exit, Some(1 | 2)), "{ran:#?}");
    }
    let ran = world.run("setup key ~/a.md --bind b --agent x\"y\\ --max-bytes 7".split(' '));
    let map: toml::Table = toml::from_str(&ran.exits(0).stdout).unwrap();
    assert!(map.get("keys").is_none());
    let binding = &map["bindings"]["b"];
    assert_eq!(binding["path"].as_str(), Some("~/a.md"));
    assert_eq!(binding["agents"][0].as_str(), Some("x\"y\\"));
    assert_eq!(binding["max_bytes"].as_integer(), Some(7));
}

#[test]
fn a_file_that_would_be_refused_is_warned_of_and_its_content_is_never_printed() {
    let world = World::new()
        .file("n/long.md", "obscure words")
        .file("n/latin.md", b"caf\xe9 obscure words")
        .file("out.md", "obscure words")
        .directory("n/dir.md")
        .map("roots = ['~/n']\n");
    for (file, says) in [
        ("~/n/gone.md", "not-found: "),
        ("~/n/dir.md", "not-a-file: "),
        ("~/n/latin.md", "not-utf8: "),
        ("~/out.md", "outside-root: "),
        ("~/n/long.md --max-bytes 12", "too-large: "),
        ("~/n/long.md --max-bytes 12 --bind b", "too-large: "),
        ("~/n/long.md --bind b", ""),
        ("~/n/long.md", ""),
    ] {
        let ran = world.run(format!("setup key {file}").split(' ')).exits(0);
        let ran = ran.conceals("obscure");
        assert!(!ran.stderr.contains("obscure"), "{ran:#?}");
        let warned = ran.stderr.strip_prefix("keyhole: warning: ");
        assert!(warned.unwrap_or_default().starts_with(says), "{ran:#?}");
        assert_eq!(ran.stderr.is_empty(), says.is_empty(), "{ran:#?}");
    }
}

/// The plugin's agent has a key in its text, so another one would be of no use.
#[test]
fn an_entry_for_the_plugins_agent_has_its_own_key() {
    let world = World::new().file("notes/a.md", "a");
    let agent = ["--agent", "keyhole:privacy-scanner"];
    let ran = world.run(["setup", "key", "~/notes/a.md"].iter().chain(&agent));
    let _ = ran.exits(0).mentions("\n[keys.keyhole-privacy-catalog]\n");
}
