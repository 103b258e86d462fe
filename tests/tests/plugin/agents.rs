//! The agents of the package: what they may do, and what they know.

use super::{
    Package, in_home,
    package::{files, tool},
};
use crate::examples;
use keyhole_core::Refusal;
use keyhole_tests::{Ran, World};
use std::{fs, process::Command};

/// Tools of the client that can only read.
const READ_ONLY: [&str; 3] = ["Read", "Grep", "Glob"];

#[test]
fn each_agent_has_tools_that_only_read_and_a_key_that_stands_only_in_its_body() {
    let package = Package::shared();
    let plugin = package.plugin();
    let tool = tool(&plugin);
    let agents = files(&plugin.join("agents"));
    assert!(!agents.is_empty());
    for file in agents {
        let text = fs::read_to_string(plugin.join("agents").join(&file)).unwrap();
        let (head, body) = text.split_once("\n---\n").unwrap();
        let fields = examples::parse(&file, &text).unwrap();
        // No other field counts in a plugin.
        let names: Vec<_> = fields.as_object().unwrap().keys().collect();
        assert_eq!(names, ["description", "maxTurns", "name", "tools"]);
        let tools: Vec<_> = fields["tools"].as_str().unwrap().split(", ").collect();
        assert_eq!(tools[0], tool);
        let can_write = tools[1..].iter().find(|tool| !READ_ONLY.contains(tool));
        assert_eq!(can_write, None);
        assert!(body.contains(&tool));

        let (_, call) = body.split_once("{ \"key\": \"").unwrap();
        let key = call.split('"').next().unwrap();
        assert!(!head.contains(key));
        for name in files(&plugin) {
            let bytes = fs::read(plugin.join(&name)).unwrap();
            let holds = String::from_utf8_lossy(&bytes).contains(key);
            let may = name.ends_with(&file) || name == "README.md" || name.starts_with("server/");
            assert!(!holds || may, "the key is in {name}");
        }
        for code in Refusal::ALL {
            let name = format!("`{}`", code.as_str());
            let calls_again = body.contains(&name);
            assert_eq!(calls_again, code.is_passing(), "{name}");
        }

        // The map that the page shows is the one that the program writes.
        let agent = format!("keyhole:{}", fields["name"].as_str().unwrap());
        assert_eq!(file, format!("{}.md", fields["name"].as_str().unwrap()));
        let page = fs::read_to_string(plugin.join("README.md")).unwrap();
        let (_, entry) = page.split_once(&format!("[keys.{key}]\n")).unwrap();
        let entry: String = entry
            .lines()
            .take(2)
            .map(|line| line.trim().to_owned() + "\n")
            .collect();
        let entry = format!("[keys.{key}]\n{entry}");
        let world = World::new().file("private/identifiers.md", "- Jane Q. Example\n");
        let check = |exit| {
            let mut command = Command::new(plugin.join("bin/keyhole"));
            Ran::of(in_home(command.arg("check"), &world), b"").exits(exit)
        };
        let _ = check(2).mentions(&format!("{agent}: map-missing\n"));
        let arguments = ["setup", "plugin", "--file", "~/private/identifiers.md"];
        let plan = world.run(arguments.iter().chain(&["--dry-run"])).exits(0);
        let lines = entry.lines().map(|line| format!("  + {line}\n"));
        let _ = plan.mentions(&lines.collect::<String>());
        world.write_map(entry);
        let _ = check(0).mentions(&format!("\n{agent}: would be served, line 1\n"));
    }
}
