//! `keyhole setup` that writes: from a question on a terminal to a file that is served; and who
//! gets nothing written.

use super::setup::{CLIENTS, pastes, setup};
use keyhole_tests::World;
use serde_json::Value;
use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::PathBuf};

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
        "\nThese rules bind Claude Code's tools in all projects. They make newer clients ask about ordinary shell reads, which `claude -p` cannot answer.\n",
    ];
    shows(&world, BIND, &[RULES, WRITE], 0, &says);
    let mut client = world.start(["serve", "--bind", "house-rules"]);
    let _ = client.handshake();
    client.load_bound().is("# Name\nJane Q. Example\n");
    client.end();

    let after = everything(&world);
    shows(&world, BIND, &[], 0, &["Nothing more is to be changed"]);
    assert_eq!(everything(&world), after);
    shows(&world, "setup remove house-rules", &[AWAY], 0, &[]);
    assert_eq!(everything(&world), before);
}

/// Whoever could put another folder there could leave tickets.
#[test]
fn the_folder_for_tickets_is_judged_first_and_made_for_the_user_alone() {
    let world = lived_in().directory(".local");
    let before = everything(&world);
    world.mode(".local", 0o777);
    let says = ["nothing is changed: others can write to the folder that Keyhole keeps tickets in"];
    shows(&world, BIND, &[], 1, &says);
    assert_eq!(everything(&world), before);
    world.mode(".local", 0o755);
    shows(&world, BIND, &[RULES, WRITE], 0, &[]);
    for folder in ["keyhole/claude-code", "keyhole/claude-code/tickets"] {
        let found = fs::metadata(world.home().join(".local/state").join(folder)).unwrap();
        assert_eq!(found.mode() & 0o777, 0o700, "{folder}");
    }
}

/// No file may get so long.
#[test]
fn a_full_disk_leaves_no_part_of_a_file() {
    let settings = format!("{{ \"a\": \"{}\" }}", "x".repeat(1 << 15));
    let world = World::new().file("private/identifiers.md", "a");
    let world = world.file(SETTINGS, settings);
    let before = everything(&world);
    let world = world.after("trap '' XFSZ; ulimit -f 16");
    shows(
        &world,
        PLUGIN,
        &[RULES, WRITE],
        1,
        &["stopped, and nothing further"],
    );
    assert!(everything(&world) == before, "something is left");
}

#[test]
fn a_beginner_answers_three_questions_and_has_the_plugins_document() {
    let world = World::new();
    let (client, file) = (("Number: ", "0"), ("Which Markdown file?", ""));
    let says = [
        "keyhole:privacy-scanner: would be served",
        "say: Scan my staged changes with the privacy scanner.",
        // Nothing shows that the plugin is installed.
        "does not switch the plugin on: install it",
    ];
    shows(&world, "setup", &[client, file, RULES, WRITE], 0, &says);
    assert!(world.path("private/identifiers.md").is_file());
    shows(&world, "setup remove plugin", &[AWAY], 0, &[]);
    let left: Vec<_> = everything(&world).into_keys().collect();
    assert_eq!(left, [world.path("private/identifiers.md")]);
}

#[test]
fn the_clients_that_are_here_come_first_and_a_wrong_answer_is_said_to_be_one() {
    let world = World::new()
        .file("private/identifiers.md", "a\n")
        .directory(".codex");
    let (first, name) = (("Number: ", "1"), ("Its name: ", ""));
    let before = everything(&world);
    for (answers, says) in [
        (&[("Number: ", "x")][..], "The list has no such number."),
        (&[("Number: ", "13")], "The list has no such number."),
        (&[first, (name.0, "A b")], "This is no name: "),
    ] {
        shows(&world, "setup", answers, 1, &[says, "nothing is changed"]);
    }
    assert_eq!(everything(&world), before);
    let file = ("Which Markdown file?", "");
    let says = ["codex exec --ephemeral -p identifier-scanner"];
    shows(&world, "setup", &[first, name, file, WRITE], 0, &says);
}

/// What is to be pasted is there, although it cannot be written.
#[test]
fn what_cannot_be_written_is_printed_with_the_reason() {
    let settings = ".config/opencode/opencode.json";
    for (command, file, content, says) in [
        (
            "opencode --bind a",
            settings,
            "{ \"permission\": \"ask\" }",
            "\"a_*\": \"deny\"",
        ),
        (
            "copilot-cli --inject a",
            ".copilot/hooks/keyhole.json",
            "{ \"hooks\": 1 }",
            "\"matcher\": \"^a$\"",
        ),
        ("plugin", SETTINGS, "{ \"permissions\": 1 }", ""),
    ] {
        let world = World::new().file("private/a.md", "a").file(file, content);
        let command = format!("setup {command} --file ~/private/a.md --dry-run");
        let ran = world.run(command.split(' ')).exits(1);
        let why = "is something else there than setup would write";
        assert!(ran.stderr.contains(why), "{ran:#?}");
        assert!(ran.stderr.contains(says), "{ran:#?}");
        assert_eq!(ran.stderr.contains("```json"), !says.is_empty(), "{ran:#?}");
    }
}

/// As a terminal writes the path of a file that is dragged to it.
#[test]
fn a_path_with_backslashes_before_its_blanks_is_the_file() {
    let world = World::new().file("my notes/a.md", "a");
    let answers = [
        ("Number: ", "0"),
        ("Which Markdown file?", r"~/my\ notes/a.md"),
        (RULES.0, "n"),
        (WRITE.0, "n"),
    ];
    let says = ["path = \"~/my notes/a.md\""];
    shows(&world, "setup", &answers, 1, &says);
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
    let of_clients = "AI_AGENT CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_PLUGIN_DATA CODEX_CI CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_THREAD_ID COPILOT_CLI CURSOR_AGENT GEMINI_CLI OPENCODE QWEN_CODE";
    let of_sudo = "SUDO_UID SUDO_USER DOAS_USER PKEXEC_UID";
    let of_clients = of_clients.split(' ').map(|name| (name, "a client's shell"));
    for (variable, says) in of_clients.chain(of_sudo.split(' ').map(|name| (name, "under sudo"))) {
        let world = lived_in().env(variable, "1");
        for command in [PLUGIN, "setup"] {
            shows(&world, command, &[], 1, &["nothing is changed", says]);
        }
        assert!(!world.path(".local").exists(), "{variable}");
    }
    // A terminal that it made, and no answer.
    shows(&world, PLUGIN, &[(RULES.0, ""), (WRITE.0, "")], 1, &[]);
    // The plan is for anybody.
    let dry = world.run(PLUGIN.split(' ').chain(["--dry-run"])).exits(0);
    let dry = dry.mentions("[keys.keyhole-privacy-catalog]");
    let dry = dry.mentions("These rules bind").conceals("model");
    let usual = world.run(["setup", "plugin", "--dry-run"]).exits(0);
    assert_eq!(usual.stdout, dry.stdout);
    assert_eq!(everything(&world), before);
}

#[test]
fn a_name_that_holds_a_key_is_refused_before_anything_is_asked() {
    let world = lived_in();
    let before = everything(&world);
    let bind = BIND.replace("house-rules", "k-0123456789abcdef");
    shows(&world, &bind, &[], 1, &["holds a key of your map"]);
    assert_eq!(everything(&world), before);
}

#[test]
fn what_was_pasted_with_an_answer_is_no_answer_to_the_next_question() {
    let world = lived_in();
    shows(&world, PLUGIN, &[(RULES.0, "y\ny"), (WRITE.0, "n")], 1, &[]);
    assert!(!world.path(".local").exists());
}

#[test]
fn a_document_that_would_be_refused_is_said_to_be_before_anything_is_written() {
    let own = "[bindings.a]\npath = '~/private/a.md'\nagents = ['rev']\n";
    let accents = "\u{e9}".repeat(5_001);
    for (content, map, command, says) in [
        (
            &b"caf\xe9"[..],
            "",
            "claude-code --bind a",
            "not-utf8: The file is not UTF-8 text. Save it as UTF-8.",
        ),
        (
            b"a",
            own,
            "cursor --bind a",
            "agents only: name one of them with --agent",
        ),
        (
            &[b'a'; 40_001],
            "",
            "codex --bind a",
            "Codex takes at most 40000: shorten it",
        ),
        (
            &[b'a'; 500_001],
            "",
            "plugin",
            "a file of more than 500000 characters",
        ),
        (
            &[b'a'; 10_001],
            "",
            "claude-code --inject a",
            "10,000 characters at most",
        ),
        (
            accents.as_bytes(),
            "",
            "codex --inject a",
            "10,000 characters at most",
        ),
        (accents.as_bytes(), "", "claude-code --inject a", ""),
        (b" ", "", "claude-code --inject a", "no empty document"),
    ] {
        let world = World::new().file("private/a.md", content).map(map);
        let command = format!("setup {command} --file ~/private/a.md --dry-run");
        let ran = world.run(command.split(' '));
        match says {
            "" => drop(ran.exits(0)),
            _ => drop(ran.exits(1).only_complains(says)),
        }
    }
    let odd = r"private/a\b.md";
    let world = World::new().file(odd, "a").file("open/a.md", "a");
    world.mode("open", 0o777);
    for (file, says) in [
        (
            odd,
            "outside-root: the file's own name has a backslash: rename it",
        ),
        (
            "open/a.md",
            "untrusted: others can write to HOME/open. Run: chmod go-w HOME/open",
        ),
    ] {
        let command = format!("setup cursor --bind a --file ~/{file}");
        shows(&world, &command, &[], 1, &[says]);
        assert!(!world.map_path().exists());
    }
    // A map that cannot be added to.
    let world = World::new().file("private/a.md", "a").map("[keys]\nk =\n");
    let ran = world.run("setup plugin --file ~/private/a.md --dry-run".split(' '));
    let _ = ran.exits(1).only_complains("context-map.toml:2: ");
    // What is new is judged when it is there.
    let world = World::new().directory("private");
    world.mode("private", 0o777);
    let says = "all is written, but the document would be refused as untrusted: others can write";
    shows(&world, PLUGIN, &[RULES, WRITE], 1, &[says]);
}

#[test]
fn codex_gets_the_variable_that_says_where_the_map_is() {
    for (folder, is_told) in [("elsewhere", true), (".config", false)] {
        let world = World::new().file("private/a.md", "a");
        let set = world.path(folder);
        let world = world.env("XDG_CONFIG_HOME", set);
        let command = "setup codex --bind a --file ~/private/a.md --dry-run";
        let ran = world.run(command.split(' ')).exits(0);
        let line = "\n  + env_vars = [\"XDG_CONFIG_HOME\"]\n";
        assert_eq!(ran.stdout.contains(line), is_told, "{ran:#?}");
        let _ = ran.conceals("list of tools");
    }
}

/// An agent may run it.
#[test]
fn what_a_dry_run_takes_away_shows_no_key() {
    let world = World::new().file("private/a.md", "a");
    let command = "setup codex --inject rev --file ~/private/a.md";
    shows(&world, command, &[WRITE], 0, &[]);
    let dry = world.run(["setup", "remove", "rev", "--dry-run"]).exits(0);
    let _ = dry.mentions("[keys.…]").conceals("k-");
    // Then the keys of the map that the record is about are not known.
    let elsewhere = world.path("elsewhere");
    let world = world.env("XDG_CONFIG_HOME", elsewhere);
    let dry = world.run(["setup", "remove", "rev", "--dry-run"]).exits(0);
    let _ = dry.mentions("[keys.…]").conceals("k-");
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
                Some(block) => as_json(bytes) == Some(block),
                // The folder for tickets lies in the home.
                None => {
                    let tickets = world.home().join(".local").display().to_string();
                    bytes == block.replace("HOME/.local", &tickets).as_bytes()
                }
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
