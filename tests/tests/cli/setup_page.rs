//! The table of docs/use-from.md says what `keyhole setup` says, and which versions the
//! tests run.

use super::setup::{CLIENTS, setup};
use keyhole_tests::{World, workspace};
use std::fs;

/// Who gets the document: in the list, and in the first words of the output.
const WHO: [(&str, &str); 4] = [
    ("only one agent", "Only the agent "),
    ("one agent, by rules", "Only the agent "),
    ("one session", "The whole session "),
    ("the whole client", "The whole client "),
];

/// Compares the page's table with the list, the examples and the output.
#[test]
fn the_pages_table_and_the_list_say_of_each_client_what_setup_says() {
    let page = fs::read_to_string(workspace().join("docs/use-from.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| client |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let list = World::new().run(["setup"]).stdout;
    assert_eq!(rows.len(), CLIENTS.len(), "{rows:#?}");
    for ((client, files), row) in CLIENTS.iter().zip(&rows) {
        let [_, name, who, how, longest, version, _] = &row[..] else {
            panic!("{row:?}")
        };
        assert!(name.ends_with(&format!("), `{client}`")), "{row:?}");
        let listed = list
            .lines()
            .find(|row| row.starts_with(&format!("{client} ")));
        assert!(listed.unwrap().contains(&format!("  {who}  ")), "{row:?}");
        for file in *files {
            assert!(how.contains(&format!("(examples/{file})")), "{file}");
        }
        let ran = setup(&World::new(), client, &["--bind", "a"]);
        let (_, first) = WHO.iter().find(|(listed, _)| listed == who).unwrap();
        assert!(ran.stdout.starts_with(first), "{ran:#?}");
        match longest.strip_suffix(" bytes") {
            Some(bytes) => {
                let option = format!(" --max-bytes {} ", bytes.replace(',', ""));
                let _ = ran.mentions(&option);
            }
            None => {
                let _ = ran.conceals("--max-bytes");
            }
        }
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
    let page = fs::read_to_string(workspace().join("docs/use-from.md")).unwrap();
    let mut run = Vec::new();
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
        let row = page
            .lines()
            .find(|line| line.starts_with("| [") && line.contains(&format!(", `{client}` |")));
        let row = row.unwrap().trim_end_matches([' ', '|']);
        let (_, versions) = row.rsplit_once("| ").unwrap();
        let mut named: Vec<_> = versions.split(", ").map(str::to_owned).collect();
        named.sort();
        pinned.sort();
        assert_eq!(named, pinned, "{client}");
        run.push(client);
    }
    // And no other row names one.
    let not_run = page
        .lines()
        .filter(|line| line.starts_with("| [") && line.ends_with("| not run |"));
    assert_eq!(not_run.count() + run.len(), CLIENTS.len());
}
