//! `./x demo`: shows a whole session, and fails if the session goes differently.

use keyhole_tests::{World, demo};
use serde_json::Value;
use std::{collections::BTreeSet, path::Path};

/// The refusals that the demo shows. The others need a disk or a client that
/// misbehaves.
const SHOWN: [&str; 10] = [
    "arguments",
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
fn it_shows_a_success_and_each_refusal_as_they_were_sent_and_leaves_nothing() {
    let world = World::new().directory("tmp");
    let temporary = world.path("tmp");
    let world = world.env("TMPDIR", &temporary).through([demo()]);
    let ran = world.run([""; 0]).exits(0).says_nothing_on_stderr();
    let received = ran
        .stdout
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("<- "));
    let (mut codes, mut texts, mut tools) = (BTreeSet::new(), Vec::new(), Vec::new());
    for line in received {
        let message: Value = serde_json::from_str(line).unwrap();
        let result = &message["result"];
        if result["isError"] == true {
            let code = result["structuredContent"]["code"].as_str();
            codes.insert(code.unwrap_or("arguments").to_owned());
        }
        texts.extend(result["content"][0]["text"].as_str().map(str::to_owned));
        tools.extend(result["tools"][0]["name"].as_str().map(str::to_owned));
    }
    assert_eq!(codes, SHOWN.map(str::to_owned).into());
    assert!(texts.iter().any(|text| text.starts_with("# Identifiers")));
    assert_eq!(tools, ["load_context"]);
    let _ = ran
        .mentions("import wasi:filesystem/types")
        .mentions(" setup\n")
        .conceals("not for anybody")
        .conceals("\u{1b}[");
    let left = |path| std::fs::read_dir(path).unwrap().count();
    assert_eq!((left(temporary), left(world.path(""))), (0, 1));
}

#[test]
fn it_fails_if_the_program_does_not_serve() {
    for program in ["/bin/false", "/bin/cat", "/nonexistent"] {
        let world = World::new().through([demo(), Path::new(program)]);
        let ran = world.run([""; 0]).exits(1);
        assert!(ran.stderr.contains("demo: stopped early: "), "{ran:#?}");
    }
}
