//! `keyhole setup key`: an entry for the map, with a fresh key.

use super::setup::KEY;
use keyhole_tests::{Ran, World};
use std::{fs, path::PathBuf};

/// Runs `setup key` and appends its output to an earlier map.
fn appended(world: &World, earlier: &str, arguments: &[&str]) -> Ran {
    let ran = world.run(["setup", "key"].iter().chain(arguments)).exits(0);
    world.write_map(format!("{earlier}{}", ran.stdout));
    ran
}

#[test]
fn an_entry_may_be_put_at_the_end_of_any_map() {
    for earlier in [
        "",
        "[keys]\n",
        "[keys]\n\"k-2c1f8a96d0e34b57\" = '~/notes/a.md'",
        "max_bytes = 9\n",
        "[keys]\n\"k-2c1f8a96d0e34b57\" = '~/notes/a.md'\n\n[bindings.b]\nkey = 'k-2c1f8a96d0e34b57'",
        "[keys.\"k-2c1f8a96d0e34b57\"]\npath = '~/notes/a.md'\n# the end",
    ] {
        let world = World::new().file("notes/a.md", "a").map(earlier);
        let _ = appended(&world, earlier, &["~/notes/a.md"]).says_nothing_on_stderr();
        let _ = world.run(["check"]).exits(0).conceals("may be guessed");
        let key = fs::read_to_string(world.map_path()).unwrap();
        let key = key.rsplit("[keys.\"").next().unwrap().split('"').next();
        let mut session = world.client();
        session.load(key.unwrap()).is("a");
        session.end();
    }
}

#[test]
fn each_key_is_another_and_strong() {
    let world = World::new().file("notes/a.md", "a");
    let keys: std::collections::BTreeSet<String> = (0..8)
        .map(|_| {
            let ran = world.run(["setup", "key", "~/notes/a.md"]).exits(0);
            let key = ran.stdout.strip_prefix("\n[keys.\"k-").unwrap();
            let (key, rest) = key.split_at(32);
            assert!(key.bytes().all(|b| b.is_ascii_hexdigit()), "{ran:#?}");
            assert_eq!(rest, "\"]\npath = \"~/notes/a.md\"\n");
            key.to_owned()
        })
        .collect();
    assert_eq!(keys.len(), 8);
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
    for file in ["~user/a.md", "", "a\nb.md", "a\u{202e}.md"] {
        let ran = world.run(["setup", "key", file]).says("");
        assert!(matches!(ran.exit, Some(1 | 2)), "{ran:#?}");
    }
    let ran = world.run([
        "setup",
        "key",
        "~/a.md",
        "--bind",
        "b",
        "--agent",
        "x\"y\\",
        "--max-bytes",
        "7",
    ]);
    let map: toml::Table = toml::from_str(&ran.exits(0).stdout).unwrap();
    let (key, entry) = map["keys"].as_table().unwrap().iter().next().unwrap();
    assert_eq!(entry["agents"][0].as_str(), Some("x\"y\\"));
    assert_eq!(entry["max_bytes"].as_integer(), Some(7));
    assert_eq!(map["bindings"]["b"]["key"].as_str(), Some(&**key));
}

#[test]
fn a_file_that_would_be_refused_is_warned_of_and_its_content_is_never_printed() {
    let world = World::new()
        .file("n/long.md", "private words")
        .file("n/latin.md", b"caf\xe9 private words")
        .file("n/a.md", "private words")
        .directory("n/dir.md")
        .map("roots = ['~/n']\nmax_bytes = 12\n");
    for (file, code) in [
        ("~/n/gone.md", "not-found"),
        ("~/n/long.md", "too-large"),
        ("~/n/dir.md", "not-a-file"),
        ("/etc/os-release.md", "outside-root"),
    ] {
        let ran = world
            .run(["setup", "key", file])
            .exits(0)
            .conceals("private");
        // The last file often does not exist, and that is found first.
        let said = [code, "not-found"].map(|code| format!("keyhole: warning: {code}: "));
        assert!(
            said.iter().any(|said| ran.stderr.starts_with(said)),
            "{ran:#?}"
        );
        assert!(!ran.stderr.contains("private"), "{ran:#?}");
    }
    let more = ["setup", "key", "~/n/latin.md", "--max-bytes", "99"];
    let ran = world.run(more).exits(0);
    assert!(ran.stderr.contains("not-utf8"), "{ran:#?}");
    let more = ["setup", "key", "~/n/a.md", "--max-bytes", "99"];
    let _ = world.run(more).exits(0).says_nothing_on_stderr();
}

#[test]
fn an_entry_that_the_map_would_not_take_or_that_shows_a_key_is_not_printed() {
    let map = format!("[keys]\n{KEY} = '~/a.md'\n[bindings.a]\nkey = '{KEY}'\n");
    let secret = format!("~/{KEY}/a.md");
    for (arguments, says) in [
        (
            &["~/a.md", "--bind", "a"][..],
            "a binding of this name already",
        ),
        (&["~/a.md", "--bind", KEY], "holds a key of your map"),
        (&["~/a.md", "--agent", KEY], "holds a key of your map"),
        (&[&*secret], "holds a key of your map"),
        // A key in the wrong place does not end with `.md`.
        (&[KEY], "a file whose name ends in .md"),
    ] {
        let ran = World::new()
            .map(&map)
            .run(["setup", "key"].iter().chain(arguments));
        let ran = ran.exits(1).says("");
        assert!(
            ran.stderr.contains(says) && !ran.stderr.contains("7f3a"),
            "{ran:#?}"
        );
    }
    let ran = World::new().map("[keys").run(["setup", "key", "~/a.md"]);
    let _ = ran.exits(1).only_complains("map-invalid");
}
