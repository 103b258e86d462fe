//! Every map, agent and setting that the documents show is valid: the program itself
//! reads it, or the test reads it as the client does.

use super::{DOCUMENTS, blocks, quotes, read};
use crate::examples;
use keyhole_tests::World;
use serde_json::Value;

/// The documents that are known to show a map, so that a search that finds nothing
/// fails.
const MAPS_IN: [&str; 5] = [
    "README.md",
    "docs/map.md",
    "docs/own-subagent.md",
    "docs/use-from.md",
    "plugin/README.md",
];

#[test]
fn each_map_is_a_map() {
    for document in DOCUMENTS {
        let maps = blocks(&read(document), "toml");
        assert_eq!(!maps.is_empty(), MAPS_IN.contains(&document), "{document}");
        for map in maps {
            // The files in the map do not exist, and that is its only fault: an invalid
            // map would exit with 2.
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

/// A reader who pastes what the pages show, one after another, has a valid map.
#[test]
fn the_maps_of_all_pages_fit_one_after_another() {
    let maps = DOCUMENTS
        .into_iter()
        .flat_map(|page| blocks(&read(page), "toml"));
    let mut seen: Vec<String> = Vec::new();
    // The start of a map is shown once. A table that two pages show is the same table.
    let mut joined = String::from("roots = ['~/notes', '~/private', '/']\n");
    for map in maps {
        for table in format!("\n{map}").split("\n[").skip(1) {
            let name = table.split(']').next().unwrap().to_owned();
            assert_ne!(name, "keys", "a header that fits only once: {map}");
            if !seen.contains(&name) {
                joined += &format!("\n[{table}\n");
                seen.push(name);
            }
        }
    }
    assert!(seen.len() > 4, "{seen:?}");
    let _ = World::new()
        .directory("notes")
        .map(joined)
        .run(["check"])
        .exits(1);
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
    let (front, body) = agent.split_once("\n---\n").expect("front matter");
    let fields = examples::parse("agent.md", agent).unwrap();
    let names: Vec<_> = fields.as_object().unwrap().keys().collect();
    assert_eq!(names, ["description", "name", "tools"]);

    let (_, call) = body.split_once("exactly `").expect("a call");
    let call: Value = serde_json::from_str(call.split('`').next().unwrap()).unwrap();
    let key = call["key"].as_str().unwrap();
    assert!(!front.contains(key));
    let map: toml::Table = toml::from_str(map).unwrap();
    let entry = &map["keys"][key];
    let name = fields["name"].as_str().unwrap();
    assert_eq!(entry["agents"][0].as_str(), Some(&*format!("acme:{name}")));

    // It has the same tool as the plugin's own agent.
    let tool = "mcp__plugin_keyhole_context__load_context";
    assert!(front.contains(tool) && body.contains(tool));
    assert!(read("plugin/agents/privacy-scanner.md").contains(tool));
}

#[test]
fn each_setting_is_json() {
    let mut settings = Vec::new();
    for document in DOCUMENTS {
        let text = read(document);
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
