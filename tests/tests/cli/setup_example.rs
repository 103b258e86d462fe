//! What `keyhole setup` prints is the example that is tested with the client.

use super::setup::{CLIENTS, pastes, program_at, run_at};
use crate::examples::{self, parse};
use keyhole_tests::World;
use serde_json::{Value, json};

/// An example as data, with other values instead of its own.
fn expected(value: &Value, program: &str, bind: &str, agent: Option<&str>, name: &str) -> Value {
    let text = |text: &str| {
        let text = text.replace("scanner-catalog", bind);
        text.replace("identifier-scanner", name)
    };
    let inner = |value: &Value| expected(value, program, bind, agent, name);
    match value {
        Value::String(word) if word == "keyhole" => program.into(),
        Value::String(word) => text(word).into(),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(inner).collect();
            if let (Some(agent), true) = (agent, items.contains(&json!("--bind"))) {
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

#[test]
fn every_example_with_a_server_is_what_setup_prints_for_some_client() {
    let printed: Vec<&str> = CLIENTS
        .iter()
        .flat_map(|(_, files)| *files)
        .copied()
        .collect();
    for file in examples::files() {
        // The map itself, and examples for ways that the output does not describe.
        let is_other = [
            "context-map.toml",
            "bernstein.yaml",
            "codex.toml",
            "gemini-cli.json",
        ];
        assert_eq!(
            !printed.contains(&&*file),
            is_other.contains(&&*file),
            "{file}"
        );
    }
}

#[test]
fn what_is_printed_is_the_example_with_these_names_to_the_formats_own_parser() {
    // Odd names that every format can hold.
    let world = World::new();
    let program = world.path("o d'd \"p\\q\" é #: %s/keyhole");
    program_at(&program);
    let path = program.to_str().unwrap();
    for (client, files) in CLIENTS {
        for (bind, agent) in [
            ("scanner-catalog", None),
            ("other-names-2", Some("reviewer")),
            // YAML does not read these as texts.
            ("123", Some("r-1")),
            ("null", None),
            ("-", None),
        ] {
            let mut arguments = vec!["setup", client, "--bind", bind];
            arguments.extend(agent.iter().flat_map(|agent| ["--agent", agent]));
            let ran = run_at(&program, &world, &arguments)
                .exits(0)
                .says_nothing_on_stderr();
            let name = match (agent, bind) {
                _ if ran.stdout.starts_with("The whole client ") => "identifier-scanner".to_owned(),
                (Some(agent), _) => agent.to_owned(),
                (None, "123" | "null" | "-") => format!("agent-{bind}"),
                (None, bind) => bind.to_owned(),
            };
            let pastes = pastes(&ran.stdout);
            assert_eq!(pastes.len(), files.len(), "{ran:#?}");
            for (file, paste) in files.iter().zip(&pastes) {
                let example = examples::read(file);
                if let (Some(example), Some(paste)) = (parse(file, &example), parse(file, paste)) {
                    let expected = expected(&example, path, bind, agent, &name);
                    assert_eq!(paste, expected, "{ran:#?}");
                }
                // The text after the front matter, and formats that nothing here parses.
                let words = |text: &str| text.split("\n---\n").nth(1).map(str::to_owned);
                let filled = example
                    .replace("scanner-catalog", bind)
                    .replace("identifier-scanner", &name);
                assert_eq!(words(paste), words(&filled), "{ran:#?}");
            }
        }
    }
}

#[test]
fn any_name_of_an_agent_is_quoted_where_the_whole_client_counts_as_it() {
    for (client, files) in CLIENTS {
        let odd = r#"acme:"r\e#v'[x]"#;
        let ran = World::new().run(["setup", client, "--agent", odd]);
        if !ran.stdout.starts_with("The whole client ") {
            // It becomes the name of a file, and a name in the client.
            let _ = ran.exits(1).only_complains("an agent's name is");
            continue;
        }
        let first = ran.stdout.lines().next().unwrap();
        assert!(
            first.ends_with(&format!(" All of them count as the agent {odd}.")),
            "{ran:#?}"
        );
        let paste = &pastes(&ran.stdout)[0];
        match parse(files[0], paste) {
            Some(data) => assert!(
                data.to_string()
                    .contains(&json!(["--agent", odd]).to_string()[1..]),
                "{ran:#?}"
            ),
            None => assert!(
                paste.contains(&format!("\"--agent\", {}]", json!(odd))),
                "{ran:#?}"
            ),
        }
    }
    for odd in ["a${HOME}", "{env:HOME}", "a}"] {
        let ran = World::new().run(["setup", "cursor", "--agent", odd]);
        let _ = ran.exits(1).only_complains("clients put other text");
    }
    for odd in ["../../x", "a/b", "true", "n", "1", "-a", "A"] {
        let ran = World::new().run(["setup", "claude-code", &format!("--agent={odd}")]);
        let _ = ran.exits(1).says("");
    }
}
