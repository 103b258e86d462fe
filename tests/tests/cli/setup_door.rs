//! `keyhole setup` that writes: from a question on a terminal to a file that is served; and who
//! gets nothing written.

use super::setup::{CLIENTS, pastes};
use keyhole_tests::World;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::PathBuf};

const SETTINGS: &str = ".claude/settings.json";
const RULES: (&str, &str) = ("Add the rules in permissions.deny? [y/N] ", "y");
const WRITE: (&str, &str) = ("Write these changes? [y/N] ", "y");
const AWAY: (&str, &str) = ("Take it away? [y/N] ", "y");

fn lived_in() -> World {
    let world = World::new()
        .file("private/identifiers.md", "# Name\nJane Q. Example\n")
        .file(SETTINGS, "{\r\n  \"model\": \"x\"\r\n}")
        .file("notes/b.md", "b\n")
        .map("# mine\n\n[keys.k-0123456789abcdef]\npath = '~/notes/b.md'");
    // Claude Code is here.
    world.file("bin/claude", "")
}

/// All that is in the home, but for setup's record.
fn everything(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
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

#[test]
fn from_a_terminal_an_agent_gets_its_document_and_remove_restores_every_byte() {
    let world = lived_in();
    let before = everything(&world);
    let arguments = ["setup", "claude-code", "--bind", "house-rules", "--file"];
    let arguments = arguments
        .iter()
        .copied()
        .chain(["~/private/identifiers.md"]);
    let (shown, exit) = world.asked(arguments.clone(), &[RULES, WRITE]);
    assert_eq!(exit, Some(0), "{shown}");
    for line in [
        "+ [bindings.house-rules]",
        "+ roots = [\"~/notes\", \"~/private\"]",
        "2 of 2 would be served.",
        "Start `claude` anew",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("model"), "{shown}");

    let mut client = world.start(["serve", "--bind", "house-rules"]);
    let _ = client.handshake();
    client.load_bound().is("# Name\nJane Q. Example\n");
    client.end();

    let after = everything(&world);
    let (shown, exit) = world.asked(arguments, &[]);
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("Nothing is to be changed"), "{shown}");
    assert_eq!(everything(&world), after);

    let (shown, exit) = world.asked(["setup", "remove", "house-rules"], &[AWAY]);
    assert_eq!(exit, Some(0), "{shown}");
    assert_eq!(everything(&world), before);
}

#[test]
fn a_beginner_answers_three_questions_and_has_the_plugins_document() {
    let world = World::new();
    let answers = [
        ("Number: ", "0"),
        ("Which Markdown file?", ""),
        RULES,
        WRITE,
    ];
    let (shown, exit) = world.asked(["setup"], &answers);
    assert_eq!(exit, Some(0), "{shown}");
    assert!(
        shown.contains("keyhole:privacy-scanner: would be served"),
        "{shown}"
    );
    assert!(
        shown.contains("say: Scan my staged changes with the privacy scanner."),
        "{shown}"
    );
    assert!(world.path("private/identifiers.md").is_file());
    let (shown, exit) = world.asked(["setup", "remove", "plugin"], &[AWAY]);
    assert_eq!(exit, Some(0), "{shown}");
    let left: Vec<_> = everything(&world).into_keys().collect();
    assert_eq!(left, [world.path("private/identifiers.md")]);
}

/// What an agent would try.
#[test]
fn an_agent_that_runs_it_gets_nothing_changed() {
    let arguments = ["setup", "plugin", "--file", "~/private/identifiers.md"];
    let world = lived_in();
    let before = everything(&world);
    for (arguments, input) in [
        (&arguments[..], "y\ny\ny\n"),
        (&["setup", "remove", "plugin"], "y\n"),
    ] {
        let ran = world
            .run_with(arguments.iter().copied(), input.as_bytes())
            .exits(1);
        let _ = ran.only_complains("without a terminal");
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
        let (shown, exit) = world.asked(arguments, &[]);
        assert_eq!(exit, Some(1), "{variable}: {shown}");
        assert!(shown.contains("nothing is changed"), "{shown}");
        assert!(!world.path(".local").exists());
    }
    // A terminal that it made, and no answer.
    let (shown, exit) = world.asked(arguments, &[(RULES.0, ""), (WRITE.0, "")]);
    assert_ne!(exit, Some(0), "{shown}");
    assert_eq!(everything(&world), before);
    // The plan is for anybody.
    let dry = world
        .run(arguments.iter().copied().chain(["--dry-run"]))
        .exits(0);
    let _ = dry
        .mentions("[keys.keyhole-privacy-catalog]")
        .conceals("model");
    assert_eq!(everything(&world), before);
}

#[test]
fn a_no_and_a_name_that_holds_a_key_change_nothing() {
    let world = lived_in();
    let before = everything(&world);
    let bind = |name: &'static str| {
        [
            "setup",
            "claude-code",
            "--bind",
            name,
            "--file",
            "~/private/identifiers.md",
        ]
    };
    let (shown, exit) = world.asked(bind("a"), &[RULES, (WRITE.0, "n")]);
    assert_eq!(
        (exit, shown.contains("nothing is changed")),
        (Some(1), true),
        "{shown}"
    );
    let (shown, exit) = world.asked(bind("k-0123456789abcdef"), &[]);
    assert_eq!(exit, Some(1), "{shown}");
    assert!(shown.contains("holds a key of your map"), "{shown}");
    assert_eq!(everything(&world), before);
}

/// The suites start the real clients with what is written.
#[test]
fn each_client_gets_written_what_is_printed_for_it() {
    for (client, files) in CLIENTS {
        let world = World::new().file("private/a.md", "a\n");
        let printed = World::new()
            .run(["setup", client, "--bind", "house-rules"])
            .stdout;
        let blocks = pastes(&printed);
        let rules: &[_] = if client == "claude-code" {
            &[RULES]
        } else {
            &[]
        };
        let arguments = [
            "setup",
            client,
            "--bind",
            "house-rules",
            "--file",
            "~/private/a.md",
        ];
        let (shown, exit) = world.asked(arguments, &[rules, &[WRITE]].concat());
        assert_eq!(exit, Some(0), "{client}: {shown}");
        let written = everything(&world);
        let is_written = |block: &String| {
            let as_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            written
                .values()
                .any(|bytes| match as_json(block.as_bytes()) {
                    // The rules come beside what is printed.
                    Some(block) if client == "claude-code" => as_json(bytes).is_some_and(|found| {
                        found["permissions"]["allow"] == block["permissions"]["allow"]
                    }),
                    Some(block) => as_json(bytes) == Some(block),
                    None => bytes == block.as_bytes(),
                })
        };
        assert_eq!(blocks.len(), files.len(), "{client}");
        let count = blocks.iter().filter(|block| is_written(block)).count();
        let is_pasted = [
            "claude-desktop",
            "vscode",
            "agent-sdk",
            "agent-mcp-gateway",
            "bernstein",
        ];
        assert_eq!(
            count,
            if is_pasted.contains(&client) {
                0
            } else {
                files.len()
            },
            "{client}: {shown}"
        );
        // Then it is printed after all.
        assert_eq!(
            shown.contains("```"),
            is_pasted.contains(&client),
            "{client}"
        );
    }
}

#[test]
fn a_map_of_the_version_before_is_rewritten_first_and_no_key_is_shown() {
    let old = "[keys.k-0123456789abcdef]\npath = '~/private/a.md'\n\n[bindings.b]\nkey = 'k-0123456789abcdef'\n";
    let world = World::new().file("private/a.md", "a\n").map(old);
    let arguments = ["setup", "plugin", "--file", "~/private/a.md"];
    let dry = world.run(arguments.iter().chain(&["--dry-run"])).exits(0);
    let _ = dry
        .mentions("  + path = \"~/private/a.md\"\n")
        .conceals("k-0123");
    let (shown, exit) = world.asked(arguments, &[(WRITE.0, "n")]);
    assert_eq!(exit, Some(1), "{shown}");
    assert_eq!(fs::read_to_string(world.map_path()).unwrap(), old);
    let agent = (
        "Type the agent's name to agree: ",
        "keyhole:privacy-scanner",
    );
    let (shown, exit) = world.asked(arguments, &[WRITE, RULES, agent, WRITE]);
    assert_eq!(exit, Some(0), "{shown}");
    assert!(!shown.contains("k-0123"), "{shown}");
    let new = old.replace("key = 'k-0123456789abcdef'", "path = \"~/private/a.md\"");
    let map = fs::read_to_string(world.map_path()).unwrap();
    assert!(map.contains(&new), "{map}");
}
