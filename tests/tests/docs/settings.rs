//! Every map, agent and setting that the documents show is valid: the program itself
//! reads it, or the test reads it as the client does.

use super::{DOCUMENTS, blocks, quotes, read};
use crate::{examples, plugin::TOOL};
use keyhole_tests::World;
use serde_json::Value;

/// The documents that are known to show a map, so that a search that finds nothing
/// fails.
const MAPS_IN: [&str; 5] = [
    "README.md",
    "docs/map.md",
    "docs/own-subagent.md",
    "docs/scan.md",
    "plugin/README.md",
];

/// The files in a map do not exist, and that is its only fault: an invalid map would exit
/// with 2.
#[track_caller]
fn is_a_map(text: &str) {
    let world = World::new().directory("notes").map(text);
    let ran = world.run(["check"]).exits(1).mentions("would be served");
    let _ = ran.conceals("may be guessed");
}

/// Also if a reader pastes what the pages show, one after another.
#[test]
fn each_map_is_a_map_and_so_are_all_together() {
    // The start of a map is shown once. A table that two pages show is the same table.
    let mut joined = String::from("roots = ['~/notes', '~/private', '/']\n");
    for document in DOCUMENTS {
        let maps = blocks(&read(document), "toml");
        assert_eq!(!maps.is_empty(), MAPS_IN.contains(&document), "{document}");
        for map in maps {
            is_a_map(&map);
            for table in format!("\n{map}").split("\n[").skip(1) {
                let (name, _) = table.split_once(']').unwrap();
                assert_ne!(name, "keys", "a header that fits only once: {map}");
                if !joined.contains(&format!("\n[{name}]")) {
                    joined += &format!("\n[{table}\n");
                }
            }
        }
    }
    is_a_map(&joined);
}

#[test]
fn the_agent_that_is_shown_has_its_key_in_its_body_only_and_in_its_map() {
    let page = read("docs/own-subagent.md");
    let (agents, maps) = (blocks(&page, "markdown"), blocks(&page, "toml"));
    let ([agent], [map]) = (&agents[..], &maps[..]) else {
        panic!("one agent and one map");
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
    let name = format!("acme:{}", fields["name"].as_str().unwrap());
    assert_eq!(map["keys"][key]["agents"][0].as_str(), Some(&*name));
    assert!(front.contains(TOOL) && body.contains(TOOL));
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
