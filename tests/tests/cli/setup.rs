//! `keyhole setup`: whom it names, what it asks of the map, and what it never prints.

use crate::docs::fenced;
use keyhole_tests::{Ran, World, binary, copy_program};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

pub(super) const KEY: &str = "k-7f3a9c55aa01beef";

/// Each client, and the examples that its output has, in this order.
pub(super) const CLIENTS: [(&str, &[&str]); 12] = [
    ("claude-code", &["claude-code-agent.md"]),
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
    let ran = world.env("PATH", path).run(["setup"]).exits(0);
    insta::assert_snapshot!(ran.says_nothing_on_stderr().stdout);
}

/// Commands that print nothing on standard output. The map has the key `KEY` and the binding
/// `a`.
const REFUSED: &str = "
setup --bind a
setup gemini-cli --inject a
setup claude-code --inject a|b
setup codex --inject .+
setup codex --inject KEY
setup claude-code --bind KEY
setup cursor --bind a-KEY-b
setup cursor --bind bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
setup cursor --bind bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb --file ~/a.md --dry-run
setup cursor --agent KEY
setup cursor --agent a${HOME}
setup cursor --agent {env:HOME}
setup cursor --agent=-x
setup cursor --agent a}
setup claude-code --agent r\"e
setup claude-code --agent ../../x
setup claude-code --agent a/b
setup claude-code --agent true
setup claude-code --agent n
setup claude-code --agent 1
setup claude-code --agent=-a
setup claude-code --agent A
setup key FILE
setup key /path/to/FILE
setup key ~user/a.md
setup key ~/KEY/a.md
setup key KEY
setup key .
setup key ~/.config
setup claude-code --bind b --file ~/.config --dry-run
setup key ~/a.md --bind a
setup key ~/a.md --bind KEY
setup key ~/a.md --agent KEY
";

#[test]
fn what_is_refused_is_told_without_repeating_it_and_nothing_is_written() {
    let mut all = String::new();
    for line in REFUSED.trim().lines() {
        let world = bound("");
        let map = fs::read(world.map_path()).unwrap();
        let ran = world.run(line.replace("KEY", KEY).split(' ')).exits(1);
        let ran = ran.says("");
        assert!(!ran.stderr.contains("7f3a"), "{ran:#?}");
        assert_eq!(fs::read(world.map_path()).unwrap(), map);
        all += &format!("keyhole {line}\n  {}", ran.stderr);
    }
    insta::assert_snapshot!(all);
    let invalid = World::new().map("[keys");
    for arguments in [&["setup", "cursor"][..], &["setup", "key", "~/a.md"]] {
        let _ = invalid
            .run(arguments)
            .exits(1)
            .only_complains("map-invalid");
    }
}

#[test]
fn a_program_that_will_not_last_is_said_to_be_one_and_an_odd_one_is_not_printed() {
    let world = World::new();
    let setup_at = |place: &str| {
        let program = world.path(place);
        program_at(&program);
        let ran = run_at(&program, &world, &["setup", "claude-desktop"]);
        fs::remove_file(program).unwrap();
        ran
    };
    // A unit test has more such places.
    let _ = setup_at("x/target/release/keyhole")
        .exits(0)
        .mentions("\n\nCareful: this program lies in a folder of cargo's, ");
    for odd in [
        "$HOME", "{x}", "a\nb", "\u{7f}", "\u{202e}", "\u{2028}", "\u{fffe}",
    ] {
        let ran = setup_at(&format!("{odd}/keyhole")).exits(1);
        let _ = ran.only_complains("install it in another place");
    }
}

/// A map with a key, and a binding that has `rest` for its agents and limit.
fn bound(rest: &str) -> World {
    World::new().file("a.md", "a").map(format!(
        "[bindings]\na = {{ path = '~/a.md'{rest} }}\n\n[keys]\n{KEY} = '~/a.md'\n"
    ))
}

/// The rest of the binding in the map; client and agent; and what is said.
const STILL_NEEDED: &str = r#"
 | cursor | has [bindings.a] already, on line 2.
 | copilot-cli | has [bindings.a] on line 2, but it allows files of 1048576 bytes: set max_bytes = 20480 in it; GitHub Copilot CLI cuts a longer result, or keeps it in a file that others may read; with the limit, Keyhole refuses such a file instead.
, max_bytes = 30000 | copilot-cli | but it allows files of 30000 bytes: set max_bytes = 20480 in it;
, max_bytes = 20480 | copilot-cli | has [bindings.a] already
 | cursor r | but any agent may have its file: add agents = ["r"] to it.
, agents = ['r'] | cursor r | has [bindings.a] already
, agents = ['r'] | cursor s | but it is for other agents: add this one to its agents.
, agents = ['r'] | cursor | but it is for its agents only: name one of them with --agent.
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
}

#[test]
fn the_command_that_is_printed_for_the_map_makes_the_binding_that_is_served() {
    for (client, names) in [
        ("cursor", &["--bind", "a"][..]),
        ("copilot-cli", &["--bind", "a", "--agent", "reviewer"]),
    ] {
        // No map yet.
        let world = World::new().file("notes of mine/it's.md", "private words\n");
        let config = world.path("config");
        let world = world.env("XDG_CONFIG_HOME", &config);
        let ran = setup(&world, client, names);
        let command = ran.stdout.split("```sh\n").nth(1).unwrap();
        let command = command.split("\n```").next().unwrap();
        let command = command.replace("FILE", "\"HOME/notes of mine/it's.md\"");
        let map = config.join("keyhole/context-map.toml");
        let _ = world.typed(&command).exits(0).says("");
        let mode = fs::metadata(&map).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let map = fs::read_to_string(&map).unwrap();
        assert!(
            map.starts_with("roots = ") && map.contains("it's.md") && !map.contains("keys"),
            "{map}"
        );
        // Now the map lacks nothing, so the output asks for nothing more.
        let _ = setup(&world, client, names).mentions("has [bindings.a] already");
        let paste = &pastes(&setup(&world, client, names).stdout)[0];
        assert!(paste.contains("\"--bind\", \"a\""));
        let mut session = world.arguments(names).client();
        session.load_bound().is("private words\n");
        session.end();
    }
}

/// Also not as a word that the text has anyway.
#[test]
fn no_key_of_the_map_is_printed() {
    for (key, client, names) in [
        ("short", "cursor", &["--bind", "short"][..]),
        (
            "The-whole-client",
            "cursor",
            &["--agent", "The-whole-client"],
        ),
        ("identifier-scanner", "claude-code", &[]),
    ] {
        let world = World::new().map(format!("[keys]\n{key} = 'a.md'\n"));
        let ran = world.run(["setup", client].iter().chain(names));
        assert!(!ran.exits(1).says("").stderr.contains(key), "{key}");
    }
}

#[test]
fn without_a_name_the_agent_has_that_of_its_binding() {
    let text = setup(&World::new(), "claude-code", &[]).stdout;
    assert!(!text.contains("scanner-catalog"), "{text}");
    assert!(text.contains("[bindings.identifier-scanner]"), "{text}");
}

/// A second binding has an agent and a file of its own, whose name is text in YAML.
#[test]
fn the_output_has_a_hook_or_a_server_for_the_one_agent_and_rules_for_all_others() {
    let mut all = String::new();
    for (client, names) in [
        ("claude-code", &["--bind", "2nd"][..]),
        ("claude-code", &["--inject", "acme:reviewer"]),
        ("codex", &["--inject", "acme:reviewer"]),
        ("copilot-cli", &["--inject", "acme:reviewer"]),
    ] {
        let text = setup(&World::new(), client, names).stdout;
        let program = binary().to_str().unwrap();
        // Some paths need quotes in a shell.
        let text = text.replace(&format!("'{program}'"), "KEYHOLE");
        let text = text.replace(program, "KEYHOLE");
        // Whether it says this depends on where the program was built.
        let parts = text.split("\n\n");
        let parts = parts.filter(|part| !part.starts_with("Careful: "));
        let text = parts.collect::<Vec<_>>().join("\n\n");
        all += &format!("$ keyhole setup {client} {}\n{text}\n", names.join(" "));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn it_says_in_which_entries_of_the_map_the_hooks_agent_is() {
    let entry = "{ path = '~/a.md', agents = ['acme:reviewer'] }\n";
    let foreign = entry.replace("acme:", "acme@good:");
    for (entries, says) in [
        (&[entry][..], " names this agent on line 2 already."),
        (&[entry, entry], "on the lines 2 and 3, but only one"),
        // No hook is told of a marketplace, so `inject` would refuse.
        (&[&foreign], " on line 2, but with a marketplace"),
        (&[entry, &foreign], "on the lines 2 and 3, but only one"),
        (&[&entry.replace("acme:", "other:")], "in no entry"),
    ] {
        let entries = entries.iter().enumerate();
        let entries = entries.map(|(number, entry)| format!("k-{number} = {entry}"));
        let world = World::new().map(format!("[keys]\n{}", entries.collect::<String>()));
        let _ = setup(&world, "claude-code", &["--inject", "acme:reviewer"]).mentions(says);
    }
}
