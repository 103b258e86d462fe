//! The files of the package, and that they fit together: what the client's own
//! validation does not check.

use super::{Package, dist};
use keyhole_tests::{Ran, World, binary, workspace};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// The variables that the client replaces in a plugin's files.
const VARIABLES: [&str; 2] = ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"];

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All files under `root`, relative to it.
pub(super) fn files(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

/// Every string in `value`.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The tool's name in the client, made from what the package says.
pub(super) fn tool(plugin: &Path) -> String {
    let name = json_of(&plugin.join(".claude-plugin/plugin.json"))["name"].clone();
    let servers = json_of(&plugin.join(".mcp.json"))["mcpServers"].clone();
    let servers: Vec<_> = servers.as_object().unwrap().keys().collect();
    let [server] = servers[..] else {
        panic!("one server: {servers:?}");
    };
    let world = World::new();
    let list = world.client().request("tools/list", json!({}));
    let tool = list.result()["tools"][0]["name"].as_str().unwrap();
    format!("mcp__plugin_{}_{server}__{tool}", name.as_str().unwrap())
}

#[test]
fn the_package_holds_what_it_should_and_no_more() {
    let package = Package::shared();
    let plugin = package.plugin();
    let mut expected: BTreeSet<String> = [
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "agents/privacy-scanner.md",
        "bin/keyhole",
        "commands/check.md",
        "contract/component.wasm",
        "contract/component.wit",
        "contract/context.wit",
        "hooks/hooks.json",
        "hooks/register.ts",
        "manifest.sha256",
        "start.sh",
    ]
    .map(str::to_owned)
    .into();
    let servers = files(&plugin.join("server"));
    assert_eq!(servers.len(), 1);
    expected.extend(servers.iter().map(|name| format!("server/{name}")));
    assert_eq!(files(&plugin), expected);
    assert_eq!(
        files(&package.marketplace().join(".claude-plugin")),
        ["marketplace.json".to_owned()].into()
    );
    // A copy made by packaging, not a second file in the repository.
    for name in files(&workspace().join("plugin")) {
        let source = fs::read(workspace().join("plugin").join(&name)).unwrap();
        assert_eq!(fs::read(plugin.join(&name)).unwrap(), source, "{name}");
    }
}

#[test]
fn the_manifest_has_the_sum_of_every_server_and_of_the_contract() {
    let package = Package::shared();
    let plugin = package.plugin();
    let manifest = fs::read_to_string(plugin.join("manifest.sha256")).unwrap();
    let named: BTreeSet<_> = manifest
        .lines()
        .map(|line| line.split_once("  ").unwrap().1.to_owned())
        .collect();
    let there: BTreeSet<_> = files(&plugin)
        .into_iter()
        .filter(|name| name.starts_with("server/") || name.starts_with("contract/"))
        .collect();
    assert_eq!(named, there);
}

#[test]
fn the_component_in_the_package_is_the_one_that_the_server_runs() {
    let package = Package::shared();
    let contract = package.plugin().join("contract");
    assert_eq!(
        fs::read(contract.join("component.wasm")).unwrap(),
        keyhole_core::sandbox::COMPONENT
    );
    assert_eq!(
        fs::read_to_string(contract.join("component.wit")).unwrap(),
        World::new().run(["contract", "--wit"]).exits(0).stdout
    );
}

#[test]
fn the_marketplace_leads_to_the_plugin_in_this_version() {
    let package = Package::shared();
    let marketplace = json_of(
        &package
            .marketplace()
            .join(".claude-plugin/marketplace.json"),
    );
    let [entry] = &marketplace["plugins"].as_array().unwrap()[..] else {
        panic!("one plugin: {marketplace}");
    };
    let root = package
        .marketplace()
        .join(entry["source"].as_str().unwrap());
    let plugin = json_of(&root.join(".claude-plugin/plugin.json"));
    assert_eq!(plugin["name"], entry["name"]);
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["license"], "MIT OR Apache-2.0");
}

#[test]
fn every_variable_is_one_of_the_clients_and_every_path_is_there() {
    let package = Package::shared();
    let plugin = package.plugin();
    for name in files(&plugin).iter().filter(|name| name.ends_with(".json")) {
        let json = json_of(&plugin.join(name));
        for text in strings(&json) {
            for part in text.split("${").skip(1) {
                let (variable, rest) = part.split_once('}').unwrap();
                assert!(VARIABLES.contains(&variable), "{name}: {text}");
                if variable == "CLAUDE_PLUGIN_ROOT" {
                    let path = rest.split(['"', ' ']).next().unwrap();
                    let path = path.strip_prefix('/').unwrap();
                    assert!(plugin.join(path).is_file(), "{name}: {path}");
                }
            }
        }
    }
}

#[test]
fn the_commands_are_quoted_and_ones_that_launcher_and_server_know() {
    let package = Package::shared();
    let plugin = package.plugin();
    let server = json_of(&plugin.join(".mcp.json"))["mcpServers"]["context"].clone();
    let mcp: Vec<String> = std::iter::once(&server["command"])
        .chain(server["args"].as_array().unwrap())
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    let hooks = json_of(&plugin.join("hooks/hooks.json"))["hooks"].clone();
    let hook = |event: &str| {
        let groups = hooks[event].as_array().unwrap();
        let commands: BTreeSet<_> = groups
            .iter()
            .map(|group| {
                let hooks = group["hooks"].as_array().unwrap();
                assert_eq!(hooks.len(), 1, "{event}");
                assert_eq!(hooks[0]["type"], "command");
                hooks[0]["command"].as_str().unwrap().to_owned()
            })
            .collect();
        commands.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(hooks.as_object().unwrap().len(), 3);
    assert_eq!(
        mcp,
        [
            "sh",
            "${CLAUDE_PLUGIN_ROOT}/start.sh",
            "${CLAUDE_PLUGIN_DATA}",
            "serve",
            "--require-ticket"
        ]
    );
    let line = |command| {
        format!("sh \"${{CLAUDE_PLUGIN_ROOT}}/start.sh\" \"${{CLAUDE_PLUGIN_DATA}}\" {command}")
    };
    assert_eq!(
        hook("SessionStart"),
        [line("check --brief"), line("install")]
    );
    assert_eq!(hook("PreToolUse"), [line("guard")]);
    assert_eq!(hook("PostToolUse"), [line("guard --after")]);
    for arguments in [
        &["serve", "--require-ticket", "--help"][..],
        &["guard", "--after", "--help"],
        &["tickets", "--help"],
        &["agents", "--help"],
        &["check", "--brief", "--help"],
        &[
            "serve",
            "--bind",
            "b",
            "--key-env",
            "K",
            "--agent",
            "a",
            "--require-ticket",
            "--help",
        ],
    ] {
        let _ = Ran::of(Command::new(binary()).args(arguments), b"").exits(0);
    }
}

#[test]
fn the_guard_is_asked_about_the_tool_and_about_nothing_else() {
    let package = Package::shared();
    let plugin = package.plugin();
    let hooks = json_of(&plugin.join("hooks/hooks.json"));
    let matchers = |event: &str| {
        let groups = hooks["hooks"][event].as_array().unwrap().iter();
        let matchers = groups.map(|group| group["matcher"].as_str().unwrap().to_owned());
        matchers.collect::<Vec<_>>()
    };
    // Before a call and after it.
    assert_eq!(matchers("PreToolUse"), matchers("PostToolUse"));
    let matchers = matchers("PreToolUse");
    // Only plain characters, so that the client reads it as a name and not as a
    // pattern.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    assert!(matchers.concat().chars().all(plain));
    // The shared server's tool, and that of the server that the module registers.
    let module = fs::read_to_string(plugin.join("hooks/register.ts")).unwrap();
    let (_, own) = module.split_once("const OWN = '").unwrap();
    let own = format!("mcp__{}__load_context", own.split('\'').next().unwrap());
    assert_eq!(matchers, [tool(&plugin), own]);
}

#[test]
fn packaging_replaces_a_package_and_nothing_else() {
    let package = Package::new();
    let before = files(&package.marketplace());
    fs::write(package.plugin().join("left over"), "").unwrap();
    let _ = dist(&package.marketplace()).exits(0);
    assert_eq!(files(&package.marketplace()), before);

    let precious = package.marketplace().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "").unwrap();
    let _ = dist(&precious).exits(1);
    assert_eq!(files(&precious), ["file".to_owned()].into());
}
