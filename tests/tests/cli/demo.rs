//! `keyhole demo`: shows a whole session, and fails if the session goes differently.

use keyhole_tests::World;
use serde_json::Value;

/// The refusals that the demo shows. The others need a disk or a client that
/// misbehaves.
const SHOWN: [&str; 9] = [
    "unknown-key",
    "not-found",
    "not-markdown",
    "not-a-file",
    "too-large",
    "not-utf8",
    "outside-root",
    "map-invalid",
    "map-missing",
];

#[test]
fn it_shows_a_success_and_each_refusal_as_they_were_sent() {
    let world = World::new();
    let ran = world.run(["demo"]).exits(0).says_nothing_on_stderr();
    let received: Vec<Value> = ran
        .stdout
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("<- "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for code in SHOWN {
        assert!(
            received.iter().any(|message| {
                message["result"]["structuredContent"]["code"] == code
                    && message["result"]["isError"] == true
            }),
            "{code} in {ran:#?}"
        );
    }
    let holds = |test: &dyn Fn(&Value) -> bool| received.iter().any(test);
    assert!(holds(
        &|message| message["result"]["tools"][0]["name"] == "load_context"
    ));
    assert!(holds(&|message| {
        let result = &message["result"];
        result["isError"] == true && result.get("structuredContent").is_none()
    }));
    assert!(holds(&|message| {
        let text = message["result"]["content"][0]["text"].as_str();
        text.is_some_and(|text| text.starts_with("# Identifiers"))
    }));
    let ran = ran
        .mentions("import wasi:filesystem/types")
        .mentions("keyhole setup key ~/notes/identifiers.md")
        .conceals("\u{1b}[");
    assert!(!ran.stdout.contains("not for anybody"), "{ran:#?}");
}

#[test]
fn it_leaves_the_home_and_the_temporary_directory_as_they_were() {
    let world = World::new().directory("tmp");
    let temporary = world.path("tmp");
    let world = world.env("TMPDIR", &temporary);
    let _ = world.run(["demo"]).exits(0);
    let names = |path| {
        let entries = std::fs::read_dir(path).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&temporary), [] as [&str; 0]);
    assert_eq!(names(&world.path("")), ["tmp"]);
}
