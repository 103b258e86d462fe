//! What `keyhole setup` prints is the example that is tested with the client.

use super::setup_page::{clients, pastes};
use crate::examples::{self, parse};
use keyhole_setup::clients::Client;
use keyhole_tests::{Ran, World, copy_program};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

/// The name of an agent that each format must quote.
const ODD: &str = r#"acme:"r\e#v'[x]"#;

/// The folder for tickets in the examples, and in the home.
const TICKETS: &str = ".local/state/keyhole/claude-code";

/// An example as data, with other values instead of its own.
fn expected(value: &Value, world: &World, bind: &str, agent: Option<&str>, name: &str) -> Value {
    let program = program(world);
    let text = |text: &str| {
        let text = text.replace("scanner-catalog", bind);
        text.replace("identifier-scanner", name)
    };
    let inner = |value: &Value| expected(value, world, bind, agent, name);
    match value {
        Value::String(word) if word == "keyhole" => program.to_str().into(),
        Value::String(word) if *word == format!("/home/me/{TICKETS}") => {
            world.home().join(TICKETS).to_str().into()
        }
        Value::String(word) => text(word).into(),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(inner).collect();
            let lacks = items.contains(&json!("--bind")) && !items.contains(&json!("--agent"));
            if let (Some(agent), true) = (agent, lacks) {
                items.extend([json!("--agent"), json!(agent)]);
            }
            items.into()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (text(name), inner(value)))
            .collect(),
        other => other.clone(),
    }
}

/// A path that each format must quote.
fn program(world: &World) -> PathBuf {
    world.path("o d'd \"p\\q\" é #: %s/keyhole")
}

#[test]
fn every_example_with_a_server_is_what_setup_prints_for_some_client() {
    let printed = clients().flat_map(|client| client.parts);
    // The map itself, an administrator's settings, examples for ways that the output does not
    // describe, and agents with a text of their own.
    let others = "company-settings.json context-map.toml managed-settings.json bernstein.yaml \
        codex.toml gemini-cli.json client-names-agent.md client-names.md house-rules-agent.md \
        house-rules.md";
    let printed = printed.map(|part| part.example);
    let all: BTreeSet<&str> = printed.chain(others.split(' ')).collect();
    let files = examples::files();
    assert_eq!(all, files.iter().map(String::as_str).collect());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one step for each format")]
fn what_is_printed_is_the_example_with_these_names_to_the_formats_own_parser() {
    // Odd names that every format can hold.
    let world = World::new();
    let program = program(&world);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    copy_program(&program);
    for Client {
        name: client,
        parts,
        ..
    } in clients()
    {
        let files = parts.iter().map(|part| part.example);
        let ran = World::new().run(["setup", client]);
        let whole_client = ran.stdout.starts_with("The whole client ");
        // YAML does not read these as texts. Elsewhere they would become names of agents.
        let odd = [
            ("123", Some("r-1")),
            ("null", None),
            ("-", None),
            ("odd", Some(ODD)),
        ];
        let odd = odd.into_iter().filter(|_| whole_client);
        let usual = [
            ("scanner-catalog", None),
            ("other-names-2", Some("reviewer")),
        ];
        for (bind, agent) in usual.into_iter().chain(odd) {
            let mut arguments = vec!["setup", client, "--bind", bind];
            arguments.extend(agent.iter().flat_map(|agent| ["--agent", agent]));
            let mut command = Command::new(&program);
            command
                .args(&arguments)
                .env_clear()
                .env("HOME", world.home());
            let ran = Ran::of(command.current_dir(world.home()), b"").exits(0);
            let ran = ran.says_nothing_on_stderr();
            if let (true, Some(agent)) = (whole_client, agent) {
                let counts = format!(" All of them count as the agent {agent}.\n");
                let _ = ran.clone().mentions(&counts);
            }
            let name = if whole_client {
                "identifier-scanner"
            } else {
                agent.unwrap_or(bind)
            };
            let pastes = pastes(&ran.stdout);
            assert_eq!(pastes.len(), files.len(), "{ran:#?}");
            for (file, paste) in files.clone().zip(&pastes) {
                let example = examples::read(file);
                if let (Some(example), Some(paste)) = (parse(file, &example), parse(file, paste)) {
                    let expected = expected(&example, &world, bind, agent, name);
                    assert_eq!(paste, expected, "{ran:#?}");
                }
                if file.ends_with(".yaml") {
                    let named = agent.map(|agent| format!("\"--agent\", {}]", json!(agent)));
                    assert!(paste.contains(&named.unwrap_or_default()), "{ran:#?}");
                }
                // The text after the front matter, and formats that nothing here parses.
                let words = |text: &str| text.split("\n---\n").nth(1).map(str::to_owned);
                let filled = example
                    .replace("scanner-catalog", bind)
                    .replace("identifier-scanner", name);
                assert_eq!(words(paste), words(&filled), "{ran:#?}");
            }
        }
    }
}
