//! `keyhole setup` that writes: from a question on a terminal to a file that is served; and who
//! gets nothing written.

use super::setup::{CLIENTS, pastes, setup};
use keyhole_tests::World;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::PathBuf};

pub(super) const SETTINGS: &str = ".claude/settings.json";
pub(super) const RULES: (&str, &str) = ("Add the rules in permissions.deny? [y/N] ", "y");
pub(super) const WRITE: (&str, &str) = ("Write these changes? [y/N] ", "y");
const AWAY: (&str, &str) = ("Take it away? [y/N] ", "y");

const BIND: &str = "setup claude-code --bind house-rules --file ~/private/identifiers.md";
const PLUGIN: &str = "setup plugin --file ~/private/identifiers.md";

pub(super) fn lived_in() -> World {
    let world = World::new()
        .file("private/identifiers.md", "# Name\nJane Q. Example\n")
        .file(SETTINGS, "{\r\n  \"model\": \"x\"\r\n}")
        .file("notes/b.md", "b\n")
        .map("# mine\n\n[keys.k-0123456789abcdef]\npath = '~/notes/b.md'");
    // Claude Code is here.
    world.file("bin/claude", "")
}

/// All that is in the home, but for setup's record.
pub(super) fn everything(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![world.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap().flatten() {
            let path = found.path();
            match path.is_dir() {
                true if path.ends_with(".local") => {}
                true => folders.push(path),
                false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    all
}

/// The terminal shows all of this when the command gets these answers, and it exits so.
#[track_caller]
fn shows(world: &World, command: &str, answers: &[(&str, &str)], exits: i32, texts: &[&str]) {
    let (shown, exit) = world.asked(command.split(' '), answers);
    assert_eq!(exit, Some(exits), "{shown}");
    for text in texts {
        assert!(shown.contains(text), "no {text:?} in {shown}");
    }
    // What is the user's own, and nobody's business.
    for text in ["model", "k-0123"] {
        assert!(!shown.contains(text), "{text:?} in {shown}");
    }
}

#[test]
fn from_a_terminal_an_agent_gets_its_document_and_remove_restores_every_byte() {
    let world = lived_in();
    let before = everything(&world);
    let says = [
        "+ [bindings.house-rules]",
        "+ roots = [\"~/notes\", \"~/private\"]",
        "2 of 2 would be served.",
        "Start `claude` anew",
    ];
    shows(&world, BIND, &[RULES, WRITE], 0, &says);
    let mut client = world.start(["serve", "--bind", "house-rules"]);
    let _ = client.handshake();
    client.load_bound().is("# Name\nJane Q. Example\n");
    client.end();

    let after = everything(&world);
    shows(&world, BIND, &[], 0, &["Nothing is to be changed"]);
    assert_eq!(everything(&world), after);
    shows(&world, "setup remove house-rules", &[AWAY], 0, &[]);
    assert_eq!(everything(&world), before);
}

#[test]
fn a_beginner_answers_three_questions_and_has_the_plugins_document() {
    let world = World::new();
    let (client, file) = (("Number: ", "0"), ("Which Markdown file?", ""));
    let says = [
        "keyhole:privacy-scanner: would be served",
        "say: Scan my staged changes with the privacy scanner.",
    ];
    shows(&world, "setup", &[client, file, RULES, WRITE], 0, &says);
    assert!(world.path("private/identifiers.md").is_file());
    shows(&world, "setup remove plugin", &[AWAY], 0, &[]);
    let left: Vec<_> = everything(&world).into_keys().collect();
    assert_eq!(left, [world.path("private/identifiers.md")]);
}

/// What an agent would try.
#[test]
fn an_agent_that_runs_it_gets_nothing_changed() {
    let world = lived_in();
    let before = everything(&world);
    for (command, input) in [(PLUGIN, "y\ny\ny\n"), ("setup remove plugin", "y\n")] {
        let ran = world.run_with(command.split(' '), input.as_bytes());
        let _ = ran.exits(1).only_complains("without a terminal");
    }
    for variable in [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CODEX_SANDBOX",
        "GEMINI_CLI",
        "CURSOR_AGENT",
        "SUDO_UID",
    ] {
        let world = lived_in().env(variable, "1");
        shows(&world, PLUGIN, &[], 1, &["nothing is changed"]);
        assert!(!world.path(".local").exists(), "{variable}");
    }
    // A terminal that it made, and no answer.
    shows(&world, PLUGIN, &[(RULES.0, ""), (WRITE.0, "")], 1, &[]);
    // The plan is for anybody.
    let dry = world.run(PLUGIN.split(' ').chain(["--dry-run"])).exits(0);
    let dry = dry.mentions("[keys.keyhole-privacy-catalog]");
    let _ = dry.conceals("model");
    assert_eq!(everything(&world), before);
}

#[test]
fn a_name_that_holds_a_key_is_refused_before_anything_is_asked() {
        "PKEXEC_UID",
    let world = lived_in();
    let before = everything(&world);
    let bind = BIND.replace("house-rules", "k-0123456789abcdef");
    shows(&world, &bind, &[], 1, &["holds a key of your map"]);
    assert_eq!(everything(&world), before);
}

/// Of these clients all is printed, and the user pastes it.
const PASTED: [&str; 5] = [
    "claude-desktop",
    "vscode",
    "agent-sdk",
    "agent-mcp-gateway",
    "bernstein",
];

/// The suites start the real clients with what is written.
#[test]
fn each_client_gets_written_what_is_printed_for_it_and_printing_writes_nothing() {
    for (client, files) in CLIENTS {
        let world = World::new().file("private/a.md", "a\n");
        let other = World::new();
        let blocks = pastes(&setup(&other, client, &["--bind", "house-rules"]).stdout);
        assert_eq!(blocks.len(), files.len(), "{client}");
        assert!(everything(&other).is_empty(), "{client}");
        let answers = match client {
            "claude-code" => &[RULES, WRITE][..],
            _ => &[WRITE],
        };
        let command = format!("setup {client} --bind house-rules --file ~/private/a.md");
        let (shown, exit) = world.asked(command.split(' '), answers);
        assert_eq!(exit, Some(0), "{client}: {shown}");
        let written = everything(&world);
        let is_in = |block: &String, bytes: &Vec<u8>| {
            let as_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            match as_json(block.as_bytes()) {
                // The rules come beside what is printed.
                Some(block) if client == "claude-code" => as_json(bytes).is_some_and(|found| {
                    found["permissions"]["allow"] == block["permissions"]["allow"]
                }),
                Some(block) => as_json(bytes) == Some(block),
                None => bytes == block.as_bytes(),
            }
        };
        let is_written = |block: &&String| written.values().any(|bytes| is_in(block, bytes));
        let count = blocks.iter().filter(is_written).count();
        let is_pasted = PASTED.contains(&client);
        let expected = if is_pasted { 0 } else { files.len() };
        assert_eq!(count, expected, "{client}: {shown}");
        // Then it is printed after all.
        assert_eq!(shown.contains("```"), is_pasted, "{client}");
    }
}

#[test]
fn a_map_of_the_version_before_is_rewritten_first_and_no_key_is_shown() {
    let old = "[keys.k-0123456789abcdef]\npath = '~/private/a.md'\n\n[bindings.b]\nkey = 'k-0123456789abcdef'\n";
    let world = World::new().file("private/a.md", "a\n").map(old);
    let command = "setup plugin --file ~/private/a.md";
    let dry = world.run(command.split(' ').chain(["--dry-run"])).exits(0);
    let dry = dry.mentions("  + path = \"~/private/a.md\"\n");
    let _ = dry.conceals("k-0123");
    let map = || fs::read_to_string(world.map_path()).unwrap();
    shows(&world, command, &[(WRITE.0, "n")], 1, &[]);
    assert_eq!(map(), old);
    let asks = "Type the agent's name to agree: ";
    let agent = (asks, "keyhole:privacy-scanner");
    shows(&world, command, &[WRITE, RULES, agent, WRITE], 0, &[]);
    let new = old.replace("key = 'k-0123456789abcdef'", "path = \"~/private/a.md\"");
    assert!(map().contains(&new), "{}", map());
}
