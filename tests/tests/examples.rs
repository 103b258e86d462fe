//! The configurations in docs/examples are what their clients can read, and name
//! a command that there is.

use keyhole_tests::{World, workspace};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// Each file and where in it the servers stand. What is not here is no example.
const SERVERS: [(&str, &str); 7] = [
    ("agent-mcp-gateway.json", "mcpServers"),
    ("claude-code-agent.md", "mcpServers"),
    ("claude-desktop.json", "mcpServers"),
    ("codex.toml", "mcp_servers"),
    ("cursor.json", "mcpServers"),
    ("gemini-cli.json", "mcpServers"),
    ("vscode.json", "servers"),
];
/// Those without a server in them.
const OTHERS: [&str; 4] = [
    "agent-mcp-gateway-rules.json",
    // These two are tried in integrations/bernstein/tests.
    "bernstein-mcp-servers.yaml",
    "bernstein.yaml",
    "context-map.toml",
];

fn read(name: &str) -> String {
    fs::read_to_string(workspace().join("docs/examples").join(name)).unwrap()
}

/// The file as data.
fn data(name: &str) -> Value {
    let text = read(name);
    if name.ends_with(".toml") {
        return toml::from_str(&text).unwrap();
    }
    if name.ends_with(".json") {
        return serde_json::from_str(&text).unwrap();
    }
    // The front matter of an agent. Its servers are in one line, in the part of
    // YAML that is JSON.
    let front = text.strip_prefix("---\n").unwrap().split("\n---\n").next();
    let mut data = json!({});
    for line in front.unwrap().lines() {
        let (field, value) = line.split_once(": ").expect("one field a line");
        data[field] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
    let list = data["mcpServers"].as_array().expect("a list").clone();
    assert_eq!(list.len(), 1, "one server");
    data["mcpServers"] = list[0].clone();
    data
}

#[test]
fn every_example_is_known_here() {
    let files: BTreeSet<String> = fs::read_dir(workspace().join("docs/examples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known = SERVERS.iter().map(|(name, _)| *name).chain(OTHERS);
    assert_eq!(files, known.map(str::to_owned).collect());
    let page = fs::read_to_string(workspace().join("docs/use-from.md")).unwrap();
    for file in files {
        assert!(page.contains(&format!("(examples/{file})")), "{file}");
    }
}

#[test]
fn each_server_in_an_example_starts_and_serves_its_context() {
    for (name, field) in SERVERS {
        let data = data(name);
        let servers = data[field].as_object().unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["scanner-catalog"]);
        let server = &servers["scanner-catalog"];
        assert_eq!(server["command"], "keyhole", "{name}");
        let arguments: Vec<&str> = server["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|argument| argument.as_str().unwrap())
            .collect();
        let ["serve", arguments @ ..] = &arguments[..] else {
            panic!("{name}: {arguments:?}")
        };
        let mut world = World::new()
            .file("notes/identifiers.md", "- Jane Q. Example\n")
            .map(read("context-map.toml"));
        for argument in arguments {
            world = world.argument(argument);
        }
        let mut client = world.client();
        client
            .request("tools/call", json!({ "name": "load_context" }))
            .is("- Jane Q. Example\n");
        client.end();
    }
}

#[test]
fn an_agent_in_an_example_has_the_tool_of_its_own_server() {
    let agent = data("claude-code-agent.md");
    let tools = agent["tools"].as_str().unwrap();
    assert!(
        tools.contains("mcp__scanner-catalog__load_context"),
        "{tools}"
    );
    for field in ["name", "description"] {
        assert!(agent[field].is_string(), "{field}");
    }
}

#[test]
fn the_gateways_rules_name_the_server_and_the_tool_that_there_are() {
    let rules = data("agent-mcp-gateway-rules.json");
    let allow = &rules["agents"]["scanner"]["allow"];
    assert_eq!(allow["servers"], json!(["scanner-catalog"]));
    assert_eq!(
        allow["tools"],
        json!({ "scanner-catalog": ["load_context"] })
    );
    assert_eq!(rules["defaults"]["deny_on_missing_agent"], true);
}

#[test]
fn the_page_shows_the_map_of_the_examples() {
    let map = read("context-map.toml");
    let keys = map.find("[keys]").unwrap();
    let page = fs::read_to_string(workspace().join("docs/use-from.md")).unwrap();
    assert!(page.contains(&format!("```toml\n{}```", &map[keys..])));
    let first = map.lines().next().unwrap();
    let schema = first.strip_prefix("#:schema ").unwrap();
    assert!(workspace().join("docs/examples").join(schema).exists());
}
