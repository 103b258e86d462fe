//! Every map, agent and setting that the papers show is one: read by the program
//! itself, or as the client reads it.

use super::{PAPERS, blocks, quotes, read};
use keyhole_tests::World;
use serde_json::Value;

/// Where it is known that the papers show something, so that a search which
/// finds nothing fails.
const MAPS_IN: [&str; 5] = [
    "README.md",
    "docs/map.md",
    "docs/own-subagent.md",
    "docs/use-from.md",
    "plugin/README.md",
];

#[test]
fn each_map_is_a_map() {
    for paper in PAPERS {
        let maps = blocks(&read(paper), "toml");
        assert_eq!(!maps.is_empty(), MAPS_IN.contains(&paper), "{paper}");
        for map in maps {
            // Nothing that it maps is there, and that is all that is wrong with it:
            // an invalid map exits with 2.
            let _ = World::new()
                .directory("notes")
                .map(map)
                .run(["check"])
                .exits(1)
                .mentions("would be served")
                .conceals("may be guessed");
        }
    }
}

#[test]
fn a_block_that_is_no_map_would_be_found() {
    let _ = World::new()
        .map("[kyes]\nk = 'a.md'\n")
        .run(["check"])
        .exits(2);
}

#[test]
fn the_agent_that_is_shown_has_its_key_in_its_body_only_and_in_its_map() {
    let page = read("docs/own-subagent.md");
    let [agent] = &blocks(&page, "markdown")[..] else {
        panic!("one agent");
    };
    let [map] = &blocks(&page, "toml")[..] else {
        panic!("one map");
    };
    let (front, body) = agent
        .strip_prefix("---\n")
        .and_then(|agent| agent.split_once("\n---\n"))
        .expect("front matter");
    let fields: Vec<&str> = front
        .lines()
        .map(|line| line.split_once(": ").expect("one field a line").0)
        .collect();
    assert_eq!(fields, ["name", "description", "tools"]);

    let (_, call) = body.split_once("exactly `").expect("a call");
    let call: Value = serde_json::from_str(call.split('`').next().unwrap()).unwrap();
    let key = call["key"].as_str().unwrap();
    assert!(!front.contains(key));
    let map: toml::Table = toml::from_str(map).unwrap();
    let entry = &map["keys"][key];
    let name = front
        .lines()
        .next()
        .unwrap()
        .strip_prefix("name: ")
        .unwrap();
    assert_eq!(entry["agents"][0].as_str(), Some(&*format!("acme:{name}")));

    // The same tool as that of the plugin's own agent.
    let tool = "mcp__plugin_keyhole_context__load_context";
    assert!(front.contains(tool) && body.contains(tool));
    assert!(read("plugin/agents/privacy-scanner.md").contains(tool));
}

#[test]
fn each_setting_is_json() {
    let mut settings = Vec::new();
    for paper in PAPERS {
        let text = read(paper);
        settings.extend(blocks(&text, "json"));
        let quoted = quotes(&text).into_iter();
        settings.extend(quoted.filter(|quoted| quoted.starts_with("{\"")));
    }
    assert!(!settings.is_empty());
    for setting in settings {
        let parsed = serde_json::from_str::<Value>(&setting);
        assert!(parsed.is_ok_and(|value| value.is_object()), "{setting}");
    }
}
