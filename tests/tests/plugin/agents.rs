//! The agents of the package: what they may do, and what they know.

use super::{
    Package,
    package::{files, tool},
};
use crate::examples;
use keyhole_core::Code;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Tools of the client that can only read.
const READ_ONLY: [&str; 3] = ["Read", "Grep", "Glob"];

/// An agent's file.
struct Agent {
    fields: Value,
    head: String,
    body: String,
}

impl Agent {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (head, body) = text.split_once("\n---\n").unwrap();
        Self {
            fields: examples::parse("agent.md", &text).unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn field(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap()
    }

    /// The key in the call that the body shows.
    fn key(&self) -> &str {
        let (_, call) = self.body.split_once("{ \"key\": \"").unwrap();
        call.split('"').next().unwrap()
    }
}

fn agents(plugin: &Path) -> Vec<(PathBuf, Agent)> {
    let names = files(&plugin.join("agents"));
    assert!(!names.is_empty());
    names
        .into_iter()
        .map(|name| plugin.join("agents").join(name))
        .map(|path| (path.clone(), Agent::read(&path)))
        .collect()
}

#[test]
fn each_agent_has_fields_that_count_in_a_plugin_and_tools_that_only_read() {
    let package = Package::shared();
    let tool = tool(&package.plugin());
    for (path, agent) in agents(&package.plugin()) {
        let names: Vec<_> = agent.fields.as_object().unwrap().keys().collect();
        assert_eq!(names, ["description", "name", "tools"]);
        assert_eq!(
            Some(agent.field("name")),
            path.file_stem().unwrap().to_str()
        );
        let tools: Vec<_> = agent.field("tools").split(", ").collect();
        let (ours, others) = tools.split_first().unwrap();
        assert_eq!(*ours, tool);
        assert!(
            others.iter().all(|tool| READ_ONLY.contains(tool)),
            "{tools:?}"
        );
        let unique: BTreeSet<_> = tools.iter().collect();
        assert_eq!(unique.len(), tools.len());
    }
}

#[test]
fn an_agents_key_stands_in_its_body_only_and_its_call_is_exact() {
    let package = Package::shared();
    for (path, agent) in agents(&package.plugin()) {
        let key = agent.key().to_owned();
        assert!(!agent.head.contains(&key));
        assert!(agent.body.contains(&tool(&package.plugin())));
        for name in files(&package.plugin()) {
            let bytes = fs::read(package.plugin().join(&name)).unwrap();
            let held = String::from_utf8_lossy(&bytes).contains(&key);
            let may = package.plugin().join(&name) == path
                || name == "README.md"
                || name.starts_with("server/");
            assert!(!held || may, "the key is in {name}");
        }
    }
}

#[test]
fn an_agent_knows_what_to_do_on_every_code() {
    let package = Package::shared();
    for (_, agent) in agents(&package.plugin()) {
        for code in Code::ALL {
            let name = format!("`{}`", code.as_str());
            assert_eq!(agent.body.matches(&name).count(), 1, "{name}");
        }
    }
}

#[test]
fn the_readme_shows_a_map_that_binds_the_agents_key_to_it() {
    let package = Package::shared();
    let readme = fs::read_to_string(package.plugin().join("README.md")).unwrap();
    for (_, agent) in agents(&package.plugin()) {
        let (_, entry) = readme
            .split_once(&format!("[keys.{}]\n", agent.key()))
            .unwrap();
        let binding = format!("agents = [\"keyhole:{}\"]", agent.field("name"));
        assert_eq!(entry.lines().nth(1).unwrap().trim(), binding);
    }
}
