//! The command that the plugin gives to a session's shell.

use super::{Package, in_home};
use keyhole_tests::{Ran, World};
use std::{fs, path::Path, process::Command};

const KEY: &str = "keyhole-privacy-catalog";

fn keyhole(package: &Package, world: &World, arguments: &[&str]) -> Ran {
    let mut command = Command::new("/bin/sh");
    command.arg(package.plugin().join("bin/keyhole"));
    Ran::of(in_home(command.args(arguments), world), b"")
}

/// Also without any arguments.
const REFUSED: &str = include_str!("shell_refuses.txt");

#[test]
fn it_checks_shows_the_contract_and_makes_a_key_and_does_nothing_else() {
    let package = Package::shared();
    let world = World::new().file("notes/a.md", "a");
    let _ = keyhole(&package, &world, &["contract"])
        .exits(0)
        .mentions("sha256:");
    let _ = keyhole(&package, &world, &["setup", "key", "~/notes/a.md"])
        .exits(0)
        .mentions("[keys.k-");
    // Whether a text is a key of the map shows in no answer.
    let world = world.map("[keys]\nsecret = '~/notes/a.md'\n");
    for agent in ["secret", "public"] {
        let typed = ["setup", "key", "~/notes/a.md", "--agent", agent];
        let ran = keyhole(&package, &world, &typed).exits(0);
        let _ = ran.says_nothing_on_stderr();
    }
    for refused in REFUSED.lines().chain([""]) {
        let words: Vec<&str> = refused.split_whitespace().collect();
        let ran = keyhole(&package, &world, &words).exits(2);
        let _ = ran.only_complains("in a session");
    }
}

/// An entry with this key, for these agents.
fn entry(key: &str, rest: &str) -> World {
    World::new()
        .file("secret-place/a.md", "- private words\n")
        .map(format!(
            "[keys.{key}]\npath = '~/secret-place/a.md'\n{rest}\n"
        ))
}

/// Mistakes that a reader makes; `agents` has the README's own entry.
#[test]
fn it_says_whether_the_plugins_agent_would_be_served_and_names_no_path() {
    let package = Package::shared();
    for (world, exit, says) in [
        (
            entry(KEY, "agents = ['privacy-scanner']"),
            1,
            "line 1 has its key, but for other agents: write agents = [\"keyhole:privacy-scanner\"] there\n",
        ),
        (
            entry(KEY, "agents = ['keyhole@keyhole:privacy-scanner']"),
            0,
            "would be served, line 1\n",
        ),
        (
            entry(KEY, ""),
            0,
            "would be served, and so would any other agent: give the entry on line 1 agents = [\"keyhole:privacy-scanner\"] and withhold = true\n",
        ),
        (
            entry("k-2c1f8a96d0e34b57", ""),
            1,
            "the map has no entry with its key. In a terminal of your own, run: ",
        ),
        (
            entry(KEY, "max_bytes = 1\nagents = ['keyhole:privacy-scanner']"),
            1,
            "too-large, line 1; run the command above in a terminal of your own\n",
        ),
        (
            World::new().map("[bindings.secret-place]\npath = '~/secret-place/a.md'\n"),
            1,
            "the map has no entry with its key. In a terminal of your own, run: ",
        ),
        (World::new().map("[keys"), 2, "map-invalid\n"),
    ] {
        let _ = keyhole(&package, &world, &["check"])
            .exits(exit)
            .mentions(&format!("\nkeyhole:privacy-scanner: {says}"))
            .conceals("secret-place")
            .conceals("context-map.toml")
            .conceals("setup key")
            .mentions(": bin/keyhole check, in the plugin's folder\n")
            .conceals("k-2c1f")
            .conceals("private words")
            .says_nothing_on_stderr();
    }
    let world = entry(KEY, "agents = ['keyhole:privacy-scanner']");
    let ran = keyhole(&package, &world, &["check", "--json"]).exits(0);
    let report = ran.conceals("secret-place").json();
    assert_eq!(report["agents"][0]["name"], "keyhole:privacy-scanner");
    assert_eq!(report["agents"][0]["ok"], true);
}

#[cfg(target_os = "linux")]
#[test]
fn a_map_that_cannot_be_used_is_told_to_a_session_without_a_path() {
    let package = Package::shared();
    for (map, mode, says) in [
        (None, 0o600, "help: in a terminal of your own, run: "),
        (
            Some("[keys"),
            0o600,
            "--> the map:1\n  help: write an entry",
        ),
        (Some(""), 0o666, "map-invalid: The map cannot be used"),
    ] {
        let world = World::new();
        if let Some(text) = map {
            world.write_map(text);
            world.mode(".config/keyhole/context-map.toml", mode);
        }
        let home = world.home().to_str().unwrap();
        for option in [None, Some("--json")] {
            let arguments: Vec<_> = ["check"].into_iter().chain(option).collect();
            let ran = keyhole(&package, &world, &arguments).exits(2);
            let ran = ran.conceals(home).conceals("HOME").conceals("chmod");
            assert!(option.is_some() || ran.stdout.contains(says), "{ran:#?}");
        }
    }
}

#[test]
fn on_a_terminal_of_the_users_own_it_names_the_paths() {
    let (shown, _) = entry(KEY, "max_bytes = 1").asked(["check", "--plugin", "/p"], &[]);
    assert!(shown.contains("~/secret-place/a.md"), "{shown}");
    assert!(shown.contains(": too-large, line 1\n"), "{shown}");
    let rules = "Read(~/secret-place/**), Read(~/secret-place/a.md), Bash(";
    assert!(shown.contains(rules), "{shown}");
    assert!(!shown.contains("terminal of your own"), "{shown}");
}

#[test]
fn a_session_is_told_of_a_map_that_cannot_be_used_and_of_nothing_else() {
    let world = World::new();
    let brief = || world.run(["check", "--brief"]).exits(0);
    let is_told = |code: &str, next: &str| {
        let told = brief().json();
        let said = told["systemMessage"].as_str().unwrap();
        assert!(said.starts_with(&format!("keyhole: {code}, ")), "{said}");
        assert!(said.contains(next), "{said}");
        assert_eq!(told.as_object().unwrap().len(), 1);
    };
    let setup = " setup plugin";
    is_told("map-missing", setup);
    world.write_map("[keys");
    is_told("map-invalid", setup);
    for map in ["[keys]\n", "[bindings.b]\npath = 'gone.md'\n"] {
        world.write_map(map);
        is_told("unknown-key", setup);
    }
    world.write_map("[keys.keyhole-privacy-catalog]\npath = 'gone.md'\n");
    is_told("not-found", "/keyhole:check");
    world.write_map("[keys]\nk = 'gone.md'\n");
    let _ = brief().says("");
}

/// The one command, by its full path, for a user who has nothing but the plugin; in words if a
/// shell might read that path in its own way.
#[test]
fn without_a_map_a_session_is_told_the_command_that_makes_one_by_its_full_path() {
    let package = Package::shared();
    let odd = package.plugin();
    let world = World::new().file("private/identifiers.md", "- private words\n");
    let plain = world.outside("plugin");
    let copied = Command::new("cp")
        .args(["-R".as_ref(), odd.as_os_str(), plain.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let told = |plugin: &Path| {
        let mut server = fs::read_dir(plugin.join("server")).unwrap();
        let mut command = Command::new(server.next().unwrap().unwrap().path());
        let told = Ran::of(in_home(command.args(["check", "--brief"]), &world), b"").exits(0);
        let said = told.json()["systemMessage"].as_str().unwrap().to_owned();
        let (_, typed) = said.split_once("In a terminal, run: ").unwrap();
        typed.to_owned()
    };
    assert_eq!(
        told(&odd),
        "bin/keyhole setup plugin, in the plugin's folder"
    );
    let typed = told(&plain);
    assert!(
        typed.ends_with("/plugin/bin/keyhole setup plugin"),
        "{typed}"
    );
    #[cfg(target_os = "linux")]
    {
        let typed = format!("{typed} --file ~/private/identifiers.md --dry-run");
        let world = world.env("PATH", std::env::var("PATH").unwrap());
        let (shown, _) = world.through(["/bin/sh", "-c", &typed]).asked([""; 0], &[]);
        let entry = "+ [keys.keyhole-privacy-catalog]";
        assert!(shown.contains(entry), "{shown}");
    }
}
