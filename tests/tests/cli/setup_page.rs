//! The table of docs/use-from.md says what `keyhole setup` says, and which versions the
//! tests run.

use super::setup::{clients, pastes, rows, setup};
use keyhole_tests::{World, workspace};
use std::fs;

/// Who gets the document: in the list, and in the first words of the output.
const WHO: [(&str, &str); 4] = [
    ("only one agent", "Only the agent "),
    ("one agent, by rules", "Only the agent "),
    ("one session", "The whole session "),
    ("the whole client", "The whole client "),
];

#[test]
fn the_pages_table_and_the_list_say_of_each_client_what_setup_says() {
    let list = World::new().run(["setup"]).stdout;
    let listed = list.lines().skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<_> = listed.filter(|line| !line.starts_with("plugin ")).collect();
    assert_eq!(listed.len(), rows().len(), "{listed:#?}");
    for (((client, files), row), listed) in clients().iter().zip(rows()).zip(listed) {
        let [_, name, who, _, longest, version, _] = &row[..] else {
            panic!("{row:?}")
        };
        assert!(name.ends_with(&format!("), `{client}`")), "{row:?}");
        assert!(listed.starts_with(&format!("{client} ")), "{listed}");
        assert!(listed.contains(&format!("  {who}  ")), "{row:?} {listed}");
        let ran = setup(&World::new(), client, &["--bind", "a"]);
        assert_eq!(pastes(&ran.stdout).len(), files.len(), "{ran:#?}");
        let (_, first) = WHO.iter().find(|(listed, _)| listed == who).unwrap();
        assert!(ran.stdout.starts_with(first), "{ran:#?}");
        let _ = match longest.strip_suffix(" bytes") {
            Some(bytes) => ran.mentions(&format!(" --max-bytes {}\n", bytes.replace(',', ""))),
            None => ran.conceals("--max-bytes"),
        };
        assert!(version.starts_with(|c: char| c.is_ascii_digit()) || *version == "not run");
    }
}

/// Each client, the file in `tests` that pins the version that the tests run, and the
/// words before it.
const PINS: &str = r#"
claude-code | client/package.json | npm:@anthropic-ai/claude-code@
codex | clients/package.json | "@openai/codex": "
gemini-cli | clients/package.json | "@google/gemini-cli": "
qwen-code | clients/package.json | "@qwen-code/qwen-code": "
opencode | clients/package.json | "opencode-ai": "
copilot-cli | clients/package.json | "@github/copilot": "
agent-sdk | clients/package.json | "@anthropic-ai/claude-agent-sdk": "
agent-mcp-gateway | interop/requirements-gateway.txt | agent-mcp-gateway==
bernstein | interop/requirements-bernstein.txt | bernstein==
"#;

#[test]
fn the_pages_table_names_the_versions_that_the_tests_run() {
    for row in PINS.trim().lines() {
        let [client, file, before] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let pins = fs::read_to_string(workspace().join("tests").join(file)).unwrap();
        let is_version = |c: &char| c.is_ascii_digit() || *c == '.';
        let mut pinned: Vec<String> = pins
            .split(before)
            .skip(1)
            .map(|pin| pin.chars().take_while(is_version).collect())
            .collect();
        let own = format!(", `{client}`");
        let row = rows().into_iter().find(|row| row[1].ends_with(&own));
        let versions = row.unwrap()[5].clone();
        let mut named: Vec<_> = versions.split(", ").map(str::to_owned).collect();
        named.sort();
        pinned.sort();
        assert_eq!(named, pinned, "{client}");
    }
    // And no other row names one.
    let not_run = rows().into_iter().filter(|row| row[5] == "not run");
    assert_eq!(not_run.count() + PINS.trim().lines().count(), rows().len());
}
