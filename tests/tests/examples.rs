//! Clients can read the configurations in docs/examples, and the command in each of
//! them exists.

use crate::{
    docs::fenced,
    plugin::{call, leave},
};
use keyhole_core::Refusal;
use keyhole_tests::{World, binary, workspace};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// The files with a server in them. The list is complete, with [`OTHERS`].
const SERVERS: &str = "agent-mcp-gateway.json claude-code-agent.md claude-desktop.json \
    codex-profile.toml codex.toml copilot-agent.md cursor.json gemini-cli-agent.md gemini-cli.json \
    opencode.json qwen-code-agent.md vscode.json";

/// The fields that have the servers.
const FIELDS: [&str; 5] = ["mcpServers", "mcp_servers", "mcp-servers", "mcp", "servers"];

/// The files without a server in them, and those that nothing here parses. Those of bernstein
/// are tried in integrations/bernstein/tests, and tests/clients runs the program. Cases of
/// tests/cli and of tests/client play an administrator's settings.
const OTHERS: &str = "agent-mcp-gateway-rules.json bernstein-mcp-servers.yaml bernstein.yaml \
    claude-agent-sdk.mjs codex-permissions.toml company-settings.json context-map.toml \
    gemini-cli-policy.toml managed-settings.json opencode-agent.md qwen-code-settings.json";

/// Whole agents for Claude Code with a text of their own. Each has its binding's name, and
/// a document.
const AGENTS: [&str; 2] = ["client-names", "house-rules"];

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(workspace().join("docs/examples").join(name)).unwrap()
}

pub(crate) fn files() -> BTreeSet<String> {
    fs::read_dir(workspace().join("docs/examples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// A text as data, in the format that the example's name says. None if nothing here
/// parses that format.
pub(crate) fn parse(name: &str, text: &str) -> Option<Value> {
    match name.rsplit('.').next().unwrap() {
        "toml" => Some(toml::from_str(text).expect(text)),
        "json" => Some(serde_json::from_str(text).expect(text)),
        "md" => {
            let front = text.strip_prefix("---\n").unwrap().split("\n---\n").next();
            let lines: Vec<&str> = front.unwrap().lines().collect();
            Some(block(&lines, 0))
        }
        _ => None,
    }
}

/// Parses the part of YAML that agents are written in: one field a line, with a
/// text, a value of JSON, or a block of fields with more indent. Panics on all else.
fn block(lines: &[&str], indent: usize) -> Value {
    let mut fields = serde_json::Map::new();
    let mut rest = lines;
    while let [line, after @ ..] = rest {
        let line = line.strip_prefix(&*" ".repeat(indent)).expect("a field");
        let (field, value) = line.split_once(':').expect("one field a line");
        let field = match scalar(field) {
            Value::String(field) => field,
            other => panic!("{line}: to YAML, {other} is no text"),
        };
        let deeper = after
            .iter()
            .take_while(|line| line.starts_with(&*" ".repeat(indent + 1)));
        let (inner, next) = after.split_at(deeper.count());
        let value = match (value.strip_prefix(' '), inner) {
            (None, [_, ..]) if value.is_empty() => block(inner, indent + 2),
            (Some(value), []) => scalar(value),
            _ => panic!("{line}"),
        };
        assert!(fields.insert(field, value).is_none(), "{line}: twice");
        rest = next;
    }
    fields.into()
}

/// A value of JSON, a list of words, or a text that needs no quotes.
fn scalar(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let list = text.strip_prefix('[');
    if let Some(list) = list.and_then(|list| list.strip_suffix(']')) {
        return list.split(", ").map(scalar).collect();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_ /.,;()'`".contains(c);
    let is_word = !["y", "n", "yes", "no", "on", "off"].contains(&text);
    assert!(
        is_word
            && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && text.chars().all(is_plain),
        "{text}: is this a text to YAML?"
    );
    text.into()
}

/// The file as data, with one table of servers.
fn data(name: &str) -> Value {
    let mut data = parse(name, &read(name)).unwrap();
    // Claude Code's agents have a list of them.
    if let Some(list) = data["mcpServers"].as_array().cloned() {
        assert_eq!(list.len(), 1, "one server");
        data["mcpServers"] = list[0].clone();
    }
    data
}

#[test]
fn every_example_is_known_here() {
    let files = files();
    let known = SERVERS.split(' ').chain(OTHERS.split(' '));
    let known = known.map(str::to_owned);
    let agents = AGENTS.map(|name| [format!("{name}-agent.md"), format!("{name}.md")]);
    assert_eq!(files, known.chain(agents.into_iter().flatten()).collect());
    let page = |name: &str| fs::read_to_string(workspace().join("docs").join(name)).unwrap();
    let pages = ["use-from.md", "own-subagent.md", "shells.md", "company.md"];
    let pages: String = pages.map(page).concat();
    for file in files {
        assert!(pages.contains(&format!("(examples/{file})")), "{file}");
    }
}

#[test]
fn each_server_in_an_example_starts_and_serves_its_context() {
    for name in SERVERS.split(' ') {
        let data = data(name);
        let servers = FIELDS.iter().find_map(|field| data[field].as_object());
        let servers = servers.unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["scanner-catalog"]);
        let server = &servers["scanner-catalog"];
        // Some clients take the command and its arguments in one list.
        let words: Vec<&str> = [&server["command"], &server["args"]]
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(words) => words.iter().map(|word| word.as_str().unwrap()).collect(),
                other => other.as_str().into_iter().collect::<Vec<_>>(),
            })
            .collect();
        let ["keyhole", "serve", arguments @ ..] = &words[..] else {
            panic!("{name}: {words:?}")
        };
        let world = World::new()
            .file("notes/identifiers.md", "- Jane Q. Example\n")
            .map(read("context-map.toml"));
        serves(world, arguments, "- Jane Q. Example\n");
    }
}

/// A server with these arguments gives its agent the document, if it needs a ticket once it has one.
#[track_caller]
fn serves(world: World, arguments: &[&str], document: &str) {
    let folder = world.path("tickets here");
    let words = arguments
        .iter()
        .map(|word| match word.starts_with("/home/me/") {
            true => folder.to_str().unwrap(),
            false => word,
        });
    let world = world.arguments(words);
    let mut client = world.client();
    if arguments.contains(&"--require-ticket") {
        let mut words = arguments.iter().skip_while(|word| **word != "--agent");
        leave(&folder, "toolu_1", words.nth(1).unwrap());
        call(&mut client, json!({}), "toolu_1").is(document);
    } else {
        client.load_bound().is(document);
    }
    client.end();
}

/// Its front matter is what `setup` prints, which the suite starts the client with; but for the
/// description, and more tools that only read.
#[test]
fn each_agent_with_a_text_of_its_own_is_what_setup_prints_and_gets_its_document() {
    for name in AGENTS {
        let [text, document] = ["-agent", ""].map(|end| read(&format!("{name}{end}.md")));
        let home = World::new();
        let printed = home.run(["setup", "claude-code", "--bind", name]);
        let program = binary().display().to_string();
        let printed = &fenced(&printed.exits(0).stdout, |language| language == "markdown")[0];
        let printed = printed
            .replace("HOME/.local", "/home/me/.local")
            .replace(&json!(program).to_string(), "\"keyhole\"");
        let mut printed = parse("printed.md", &printed).unwrap();
        let mut example = parse("example.md", &text).unwrap();
        printed["description"] = example["description"].take();
        example["description"] = printed["description"].clone();
        let tools = example["tools"].as_str().unwrap();
        example["tools"] = json!(tools.replacen("Grep, Glob, ", "", 1));
        assert_eq!(example, printed);

        // It calls again where that may help, and otherwise says so and stops.
        let (_, body) = text.split_once("\n---\n").unwrap();
        let (_, listed) = body.split_once("On `").unwrap();
        let (listed, _) = listed.split_once(", call again").unwrap();
        let passing = Refusal::ALL.into_iter().filter(|code| code.is_passing());
        let passing: Vec<_> = passing.map(|code| code.as_str()).collect();
        let listed = listed.replace(" or ", ", ").replace('`', "");
        assert_eq!(listed.split(", ").collect::<Vec<_>>(), passing, "{name}");
        for words in [
            "stop: report that the ",
            " could not be loaded",
            "Never guess",
            "Never write",
        ] {
            assert!(body.contains(words), "{name}: {words}");
        }
        // Nothing of the document is in what the main conversation can read.
        let items = document.lines().filter_map(|line| line.strip_prefix("- "));
        assert!(items.clone().count() > 2);
        assert!(!items.into_iter().any(|item| text.contains(item)));

        let world = World::new()
            .file(&format!("private/{name}.md"), &document)
            .map(format!(
                "roots = ['~/private']\n[bindings.{name}]\npath = '~/private/{name}.md'\n"
            ));
        let server = &example["mcpServers"][0][name]["args"];
        let words: Vec<_> = server.as_array().unwrap().iter().skip(1).collect();
        let words: Vec<_> = words.iter().map(|word| word.as_str().unwrap()).collect();
        serves(world, &words, &document);
    }
}

#[test]
fn the_map_of_the_examples_names_the_schema() {
    let map = read("context-map.toml");
    let first = map.lines().next().unwrap();
    let schema = first.strip_prefix("#:schema ").unwrap();
    assert!(workspace().join("docs/examples").join(schema).exists());
}
