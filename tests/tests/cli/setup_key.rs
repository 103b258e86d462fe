//! `keyhole setup key`: an entry for the map, with a fresh key.

use keyhole_tests::World;
use std::{collections::BTreeSet, fs};

/// The shell makes the map before the program looks for one. Each key is another, and strong.
#[test]
fn an_entry_may_be_put_at_the_end_of_any_map_and_the_first_brings_the_roots() {
    let mut keys = BTreeSet::new();
    for (earlier, brings_roots) in [
        ("", true),
        ("\n\n", true),
        ("# mine\n", false),
        ("max_bytes = 9\n", false),
        ("roots = ['~/notes']\n\n[keys]\n", false),
        (
            "[keys]\nk-2c1f8a96d0e34b57 = '~/notes/a.md'\n\n[bindings.b]\npath = '~/notes/a.md'",
            false,
        ),
    ] {
        let world = World::new().file("notes/a.md", "a").map(earlier);
        let append = "keyhole setup key ~/notes/a.md >> ~/.config/keyhole/context-map.toml";
        let ran = world.typed(append).exits(0).says("");
        let _ = ran.says_nothing_on_stderr();
        let map = fs::read_to_string(world.map_path()).unwrap();
        let added = map.strip_prefix(earlier).unwrap();
        assert_eq!(added.starts_with("roots = [\"~/notes\"]\n"), brings_roots);
        let _ = world.run(["check"]).exits(0).conceals("may be guessed");
        let key = added.rsplit("[keys.").next().unwrap().split(']').next();
        let key = key.unwrap();
        world.load(key).is("a");
        let digits = key.strip_prefix("k-").unwrap();
        assert!(digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(keys.insert(key.to_owned()), "it is another");
    }
}

#[test]
fn the_file_is_written_as_it_means_the_same_in_the_map() {
    let odd = "notes/o'd \"d\\é.md";
    let world = World::new().file(odd, "odd").file("a.md", "a");
    let (full, short) = (world.path(odd), format!("~/{odd}"));
    for (file, path) in [
        (odd, &*short),
        (full.to_str().unwrap(), &short),
        ("./a.md", "~/a.md"),
        ("~/a.md", "~/a.md"),
    ] {
        let ran = world.run(["setup", "key", file]).exits(0);
        let map: toml::Table = toml::from_str(&ran.stdout).unwrap();
        let (_, entry) = map["keys"].as_table().unwrap().iter().next().unwrap();
        assert_eq!(entry["path"].as_str(), Some(path));
    }
    for file in ["", "a\nb.md", "a\u{202e}.md"] {
        let ran = world.run(["setup", "key", file]).says("");
        assert!(matches!(ran.exit, Some(1 | 2)), "{ran:#?}");
    }
    let ran = world.run("setup key ~/a.md --bind b --agent x\"y\\ --max-bytes 7".split(' '));
    let map: toml::Table = toml::from_str(&ran.exits(0).stdout).unwrap();
    assert!(map.get("keys").is_none());
    let binding = toml::toml! { path = "~/a.md" agents = ["x\"y\\"] max_bytes = 7 };
    assert_eq!(map["bindings"]["b"].as_table(), Some(&binding));
    // The plugin's agent has a key in its text, so another one would be of no use.
    let ran = world.run("setup key ~/a.md --agent keyhole:privacy-scanner".split(' '));
    let _ = ran.exits(0).mentions("[keys.keyhole-privacy-catalog]\n");
}
