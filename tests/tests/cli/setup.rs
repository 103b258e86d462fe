//! `keyhole setup`: whom it names, what it asks of the map, and what it never prints.

use crate::docs::fenced;
use keyhole_tests::{Ran, World, binary, copy_program};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

/// Who gets the document: the first words of the output.
const WHO: [&str; 3] = ["Only the agent ", "The whole session ", "The whole client "];

pub(super) const KEY: &str = "k-7f3a9c55aa01beef";

/// Each client, and the examples that its output has, in this order.
pub(super) const CLIENTS: [(&str, &[&str]); 12] = [
    (
        "claude-code",
        &["claude-code-agent.md", "claude-code-settings.json"],
    ),
    ("claude-desktop", &["claude-desktop.json"]),
    ("vscode", &["vscode.json"]),
    ("cursor", &["cursor.json"]),
    ("codex", &["codex-profile.toml"]),
    (
        "gemini-cli",
        &["gemini-cli-agent.md", "gemini-cli-policy.toml"],
    ),
    (
        "qwen-code",
        &["qwen-code-agent.md", "qwen-code-settings.json"],
    ),
    ("opencode", &["opencode.json", "opencode-agent.md"]),
    ("copilot-cli", &["copilot-agent.md"]),
    ("agent-sdk", &["claude-agent-sdk.mjs"]),
    (
        "agent-mcp-gateway",
        &["agent-mcp-gateway.json", "agent-mcp-gateway-rules.json"],
    ),
    ("bernstein", &["bernstein-mcp-servers.yaml"]),
];

/// The output for a client with these names.
#[track_caller]
pub(super) fn setup(world: &World, client: &str, names: &[&str]) -> Ran {
    let ran = world.run(["setup", client].iter().chain(names));
    ran.exits(0).says_nothing_on_stderr()
}

/// The blocks that are not commands, as users paste them.
pub(super) fn pastes(text: &str) -> Vec<String> {
    fenced(text, |language| language != "sh")
}

/// Makes a copy of the program at `place`.
pub(super) fn program_at(place: &Path) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    copy_program(place);
}

pub(super) fn run_at(program: &Path, world: &World, arguments: &[&str]) -> Ran {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("HOME", world.home())
        .current_dir(world.home());
    Ran::of(&mut command, b"")
}

#[test]
fn with_no_client_it_lists_those_it_knows_and_which_are_here() {
    let world = World::new()
        .file("bin/codex", "")
        .directory(".gemini")
        .directory(".config/opencode");
    let path = world.path("bin");
    let world = world.env("PATH", path);
    let ran = world.run(["setup"]).exits(0).says_nothing_on_stderr();
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert!(rows[0].starts_with("CLIENT "), "{ran:#?}");
    for ((name, _), row) in CLIENTS.iter().zip(&rows[1..]) {
        assert!(row.starts_with(&format!("{name} ")), "{name} {ran:#?}");
        let here = match *name {
            "codex" => "  yes, the command codex",
            "gemini-cli" => "  yes, ~/.gemini",
            "opencode" => "  yes, ~/.config/opencode",
            _ => "  -",
        };
        assert!(row.ends_with(here), "{name} {ran:#?}");
    }
    assert_eq!(rows[CLIENTS.len() + 1], "", "{ran:#?}");
}

#[test]
fn an_unknown_client_is_refused_and_the_known_ones_are_named() {
    for name in ["claude", "kez", "Claude-Code", ""] {
        let ran = World::new().run(["setup", name]).exits(2).says("");
        let names: Vec<&str> = CLIENTS.iter().map(|(name, _)| *name).collect();
        let known = format!("[CLIENT] is one of: {}", names.join(", "));
        assert!(
            ran.stderr.contains(&known) || name.is_empty(),
            "{name} {ran:#?}"
        );
    }
    let _ = World::new()
        .run(["setup", "--bind", "a"])
        .exits(1)
        .only_complains("name a client");
}

#[test]
fn the_first_line_says_who_gets_the_document_and_the_list_says_the_same() {
    let list = World::new().run(["setup"]).stdout;
    for (client, _) in CLIENTS {
        let ran = setup(&World::new(), client, &["--bind", "a"]);
        let who = WHO.iter().position(|who| ran.stdout.starts_with(who));
        let row = list
            .lines()
            .find(|row| row.starts_with(&format!("{client} ")));
        let listed = [
            ("only one agent", 0),
            ("one agent, by rules", 0),
            ("one session", 1),
            ("the whole client", 2),
        ]
        .iter()
        .find(|(who, _)| row.unwrap().contains(&format!("  {who}  ")))
        .map(|(_, first)| *first);
        assert_eq!((who.is_some(), who), (true, listed), "{ran:#?}");
    }
}

#[test]
fn a_program_that_will_not_last_is_said_to_be_one_and_an_odd_one_is_not_printed() {
    let world = World::new();
    // A unit test has more such places.
    for (place, why) in [
        (
            ".claude/plugins/cache/k/1.0/server/keyhole",
            "a plugin's folder",
        ),
        ("x/target/release/keyhole", "a folder of cargo's"),
        ("bin/keyhole", "a folder for temporary files"),
    ] {
        let program = world.path(place);
        program_at(&program);
        let ran = run_at(&program, &world, &["setup", "claude-desktop"]).exits(0);
        let ran = ran.mentions(&format!("\n\nCareful: this program lies in {why}, "));
        assert!(ran.stdout.starts_with("The whole client "), "{ran:#?}");
        fs::remove_file(program).unwrap();
    }
    for place in [
        "a${HOME}/keyhole",
        "a\nb/keyhole",
        "{x}/keyhole",
        "a\u{202e}b/keyhole",
    ] {
        let program = world.path(place);
        program_at(&program);
        let ran = run_at(&program, &world, &["setup", "claude-desktop"]);
        let _ = ran.exits(1).only_complains("install it in another place");
        fs::remove_file(program).unwrap();
    }
}

/// A map with a binding, whose entry has `rest` for its agents and limit.
fn bound(rest: &str) -> World {
    World::new().file("a.md", "a").map(format!(
        "[bindings.a]\nkey = '{KEY}'\n\n[keys]\n{KEY} = {{ path = '~/a.md'{rest} }}\n"
    ))
}

/// The rest of the entry in the map; client and agent; and what is said.
const STILL_NEEDED: &str = r#"
 | cursor | has [bindings.a] already, on line 1.
 | copilot-cli | but the entry on line 5 allows files of 1048576 bytes: add max_bytes = 20480 to it; GitHub Copilot CLI cuts a longer result, or keeps it in a file that others may read; with the limit, Keyhole refuses such a file instead.
, max_bytes = 20480 | copilot-cli | has [bindings.a] already
 | cursor r | but any agent may use its key: add agents = ["r"] to the entry on line 5.
, agents = ['r'] | cursor r | has [bindings.a] already
, agents = ['r'] | cursor s | but its key is bound to other agents: add this one to those on line 5.
, agents = ['r'] | cursor | but its key is bound to agents, on line 5: name one of them with --agent.
"#;

#[test]
fn it_says_what_the_map_still_needs_and_no_key() {
    for row in STILL_NEEDED.trim_matches('\n').lines() {
        let [rest, client, says] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let (client, agent) = client.split_once(' ').unwrap_or((client, ""));
        let mut names = vec!["--bind", "a"];
        if !agent.is_empty() {
            names.extend(["--agent", agent]);
        }
        let _ = setup(&bound(rest), client, &names)
            .mentions(says)
            .conceals("setup key")
            .conceals("7f3a");
    }
    let world = World::new().map(format!("[bindings.a]\nkey = '{KEY}'\n"));
    let _ = setup(&world, "cursor", &["--bind", "a"])
        .mentions("but its key has no entry")
        .conceals("7f3a");
    for (map, code) in [("[keys", "map-invalid"), ("[keys]\nx = 7\n", "map-invalid")] {
        let ran = World::new().map(map).run(["setup", "cursor"]);
        let _ = ran.exits(1).only_complains(code);
    }
}

#[test]
fn the_command_that_is_printed_for_the_map_makes_the_binding_that_is_served() {
    for (client, names) in [
        ("cursor", &["--bind", "a"][..]),
        ("copilot-cli", &["--bind", "a", "--agent", "reviewer"]),
        ("vscode", &["--bind", "a", "--agent", "o'd\"d"]),
    ] {
        // A folder with a blank in its name, and no map yet.
        let world = World::new().file("notes of mine/it's.md", "private words\n");
        let config = world.path("con fig");
        let world = world.env("XDG_CONFIG_HOME", &config);
        let ran = setup(&world, client, names);
        let command = ran.stdout.split("```sh\n").nth(1).unwrap();
        let command = command.split("\n```").next().unwrap();
        let command = command.replace("FILE", "\"HOME/notes of mine/it's.md\"");
        let _ = world.typed(&command).exits(0).says("");
        let map = config.join("keyhole/context-map.toml");
        let mode = fs::metadata(&map).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Now the map lacks nothing, so the output asks for nothing more.
        let key = fs::read_to_string(&map).unwrap();
        let key = key.split('"').nth(1).unwrap().to_owned();
        let _ = setup(&world, client, names)
            .mentions("has [bindings.a] already")
            .conceals(&key);
        let paste = &pastes(&setup(&world, client, names).stdout)[0];
        assert!(paste.contains("\"--bind\", \"a\""));
        let mut session = world.arguments(names).client();
        session.load_bound().is("private words\n");
        session.end();
    }
}

#[test]
fn nothing_is_written_and_no_key_of_the_map_is_printed() {
    // A key as a name, whole and in part; and as a word that the text has anyway.
    for (key, names) in [
        (KEY, &["--bind", KEY][..]),
        (KEY, &["--bind", "a-k-7f3a9c55aa01beef-b"]),
        (KEY, &["--agent", KEY]),
        ("short", &["--bind", "short"]),
        ("The-whole-client", &["--agent", "The-whole-client"]),
        ("identifier-scanner", &[]),
    ] {
        for client in ["claude-code", "cursor"] {
            if (key, client) == ("identifier-scanner", "cursor") {
                continue;
            }
            let world = World::new().map(format!("[keys]\n{key} = 'a.md'\n"));
            let before = fs::read(world.map_path()).unwrap();
            let ran = world.run(["setup", client].iter().chain(names));
            let ran = ran.exits(1).says("");
            assert!(!ran.stderr.contains(key), "{ran:#?}");
            assert_eq!(fs::read(world.map_path()).unwrap(), before);
        }
    }
    let world = World::new();
    for (client, _) in CLIENTS {
        let _ = setup(&world, client, &["--bind", "a"]);
    }
    let _ = world.run(["setup", "key", "a.md"]).exits(0);
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0);
}

/// The command of the hook in the output, and what comes before it.
fn hook(client: &str, world: &World) -> (String, Value) {
    let ran = world.run(["setup", client, "--inject", "acme:reviewer"]);
    let ran = ran.exits(0).says_nothing_on_stderr();
    let settings = pastes(&ran.stdout).pop().unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    (ran.stdout, settings["hooks"]["SubagentStart"][0].take())
}

#[test]
fn the_settings_of_a_hook_name_the_agent_the_program_and_the_map() {
    let entry = "{ path = '~/a.md', agents = ['acme:reviewer'] }";
    for (client, note) in [
        (
            "claude-code",
            "\"Bash(*keyhole* inject*)\" to permissions.deny",
        ),
        ("codex", "/hooks"),
    ] {
        let world = World::new();
        let (text, hook) = hook(client, &world);
        assert!(text.starts_with("Only the agent acme:reviewer gets the document"));
        assert!(
            text.contains(" setup key FILE --agent acme:reviewer >> "),
            "{text}"
        );
        let program = binary().to_str().unwrap();
        let command = format!("{program} inject --map HOME/.config/keyhole/context-map.toml");
        let command = json!([{"type": "command", "command": command}]);
        assert_eq!(
            hook,
            json!({"matcher": "^acme:reviewer$", "hooks": command})
        );
        assert!(text.contains(note), "{text}");
    }
    let (_, hook_of_copilot) = hook("copilot-cli", &World::new());
    assert_eq!(hook_of_copilot["matcher"], "^acme:reviewer$");
    assert_eq!(hook_of_copilot["type"], "command");
    let world = World::new().map(format!("[keys]\n{KEY} = {entry}\n"));
    assert!(
        hook("claude-code", &world)
            .0
            .contains(" names this agent on line 2 already.")
    );
    let world = World::new().map(format!("[keys]\n{KEY} = {entry}\nk-2 = {entry}\n"));
    assert!(
        hook("claude-code", &world)
            .0
            .contains("on the lines 2 and 3, but only one")
    );
    let entry = entry.replace("acme:", "acme@good:");
    let world = World::new().map(format!("[keys]\n{KEY} = {entry}\n"));
    assert!(hook("claude-code", &world).0.contains("in no entry"));
}

#[test]
fn no_hook_is_printed_for_a_client_without_one_or_for_a_name_that_it_could_misread() {
    for (arguments, why) in [
        (
            ["gemini-cli", "a"],
            "only claude-code, codex and copilot-cli",
        ),
        (["claude-code", "a|b"], "letters, digits"),
        (["codex", ".*"], "letters, digits"),
    ] {
        let [client, agent] = arguments;
        let ran = World::new().run(["setup", client, "--inject", agent]);
        let _ = ran.exits(1).only_complains(why);
    }
    let world = World::new().map(format!("[keys]\n{KEY} = '~/a.md'\n"));
    let ran = world
        .run(["setup", "codex", "--inject", KEY])
        .exits(1)
        .says("");
    assert!(!ran.stderr.contains(KEY), "{ran:?}");
}

#[test]
fn a_second_binding_gets_an_agent_and_a_file_of_its_own() {
    let world = World::new();
    for (name, agent) in [
        ("second", "second"),
        ("2nd", "agent-2nd"),
        ("null", "agent-null"),
    ] {
        setup(&world, "claude-code", &["--bind", name])
            .mentions(&format!("Only the agent {agent} gets the document"))
            .mentions(&format!("Write this to ~/.claude/agents/{agent}.md,"))
            .mentions(&format!("\nname: {agent}\n"))
            .mentions(&format!("\"allow\": [\"mcp__{name}__load_context\"]"))
            .mentions("settings.json")
            .conceals("..")
            .conceals("identifier-scanner");
    }
}

#[test]
fn the_rules_that_keep_the_document_from_the_main_conversation_are_printed() {
    let _ = World::new()
        .run(["setup", "claude-code", "--bind", "rules"])
        .exits(0)
        .mentions("permissions.deny of ~/.claude/settings.json")
        .mentions("\"Read(FOLDER/**)\"")
        .mentions("\"Read(~/.claude/projects/**)\"");
}

#[test]
fn the_word_file_itself_is_no_file() {
    for file in ["FILE", "/path/to/FILE"] {
        let _ = World::new()
            .run(["setup", "key", file])
            .exits(1)
            .only_complains("replace FILE by the path");
    }
}
