//! The table of docs/use-from.md is made from the rows of `clients.toml` and the versions that the
//! tests run, and `keyhole setup` says the same.

use crate::docs::{fenced, headings, is_committed, read, slug};
use keyhole_core::limits::MAX_CLAUDE_CHARS;
use keyhole_setup::clients::{self, Audience, Client, Part};
use keyhole_tests::World;

const PAGE: &str = "docs/use-from.md";
const HEAD: &str = "
| client | who gets the file | files | longest file | version seen |
|---|---|---|---|---|
";

/// Each client that needs a server of its own.
pub(super) fn clients() -> impl Iterator<Item = Client> {
    clients::all().filter(|client| !client.is_plugin())
}

/// The blocks that are not commands, as users paste them.
pub(super) fn pastes(text: &str) -> Vec<String> {
    fenced(text, |language| language != "sh")
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

/// The versions that the tests run, the newest first.
fn versions(client: &Client) -> String {
    let start = format!("{} | ", client.name);
    let Some(pin) = PINS.lines().find_map(|line| line.strip_prefix(&start)) else {
        return "not run".to_owned();
    };
    let (file, before) = pin.split_once(" | ").unwrap();
    let pins = read(&format!("tests/{file}"));
    let is_version = |c: &char| c.is_ascii_digit() || *c == '.';
    let found = pins.split(before).skip(1);
    let mut found: Vec<String> = found
        .map(|text| text.chars().take_while(is_version).collect())
        .collect();
    assert!(!found.is_empty(), "{}", client.name);
    found.sort_by(|one, other| other.cmp(one));
    found.join(", ")
}

/// The longest file that arrives whole, in thousands.
fn longest(client: &Client) -> String {
    let grouped = |size: u64| format!("{},{:03}", size / 1000, size % 1000);
    match client.max_bytes {
        Some(bytes) => grouped(bytes) + " bytes",
        None if ["claude-code", "agent-sdk"].contains(&client.name) => {
            grouped(MAX_CLAUDE_CHARS as u64) + " characters"
        }
        None => "unknown".to_owned(),
    }
}

#[test]
fn the_pages_table_is_made_from_what_setup_knows() {
    let page = read(PAGE);
    let (before, rest) = page.split_once("\n| client |").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let mut table = HEAD.to_owned();
    for client in clients() {
        let (name, title) = (client.name, client.title);
        let is_its = |heading: &str| {
            let text = heading.trim_start_matches(['#', ' ']);
            text.split(", ").any(|one| one == title)
        };
        let heading = headings(&page).into_iter().find(|one| is_its(one)).unwrap();
        let link = |part: &Part| format!("[{0}](examples/{0})", part.example);
        let files: Vec<_> = client.parts.iter().map(link).collect();
        table += &format!(
            "| [{title}](#{}), `{name}` | {} | {} | {} | {} |\n",
            slug(heading),
            client.audience.in_words(),
            files.join(", "),
            longest(&client),
            versions(&client),
        );
    }
    is_committed(PAGE, &format!("{before}{table}\n{after}"));
}

#[test]
fn setup_says_of_each_client_what_the_table_says() {
    let list = World::new().run(["setup"]).stdout;
    for client in clients() {
        let start = format!("{} ", client.name);
        let line = list.lines().find(|line| line.starts_with(&start)).unwrap();
        assert!(line.contains(client.audience.in_words()), "{list}");

        let ran = World::new().run(["setup", client.name, "--bind", "a"]);
        let ran = ran.exits(0).says_nothing_on_stderr();
        assert_eq!(pastes(&ran.stdout).len(), client.parts.len(), "{ran:#?}");
        let first = match client.audience {
            Audience::Plugin => unreachable!(),
            Audience::Agent | Audience::Ruled => "Only the agent ",
            Audience::Session => "The whole session ",
            Audience::Client => "The whole client ",
        };
        assert!(ran.stdout.starts_with(first), "{ran:#?}");
        let _ = match client.max_bytes {
            Some(bytes) => ran.mentions(&format!(" --max-bytes {bytes}\n")),
            None => ran.conceals("--max-bytes"),
        };
    }
}
