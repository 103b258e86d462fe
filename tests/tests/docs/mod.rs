//! The documents, compared with the program and the repository.

mod citations;
mod commands;
mod pictures;
mod refusals;
mod settings;
/// The version, wherever it is repeated.
mod versions;

use keyhole_tests::workspace;
use std::{env, fs};

/// All documents that we send a reader to. `examples` tests the configuration of each
/// client.
const DOCUMENTS: [&str; 17] = [
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/alternatives.md",
    "docs/check.md",
    "docs/install.md",
    "docs/map.md",
    "docs/own-subagent.md",
    "docs/promises.md",
    "docs/questions.md",
    "docs/refusals.md",
    "docs/scan.md",
    "docs/shells.md",
    "docs/use-from.md",
    "docs/withhold.md",
    "plugin/README.md",
];

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// The file at `path` has this text. `./x bless` writes it.
#[track_caller]
pub(crate) fn is_committed(path: &str, text: &str) {
    let file = workspace().join(path);
    if env::var_os("KEYHOLE_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == text,
        "{path} is out of date: run `./x bless`, and look at the difference. It should be:\n{text}"
    );
}

/// The name by which a link finds this heading, as GitHub makes it.
pub(crate) fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let kept: String = text.chars().filter(is_kept).collect();
    kept.replace(' ', "-")
}

/// The lines of `text` that are headings.
pub(crate) fn headings(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let lines = text.lines().filter(move |line| {
        in_block ^= line.trim_start().starts_with("```");
        !in_block && line.starts_with('#')
    });
    lines.collect()
}

/// The fenced blocks in `text` whose language is one of these, without their indent.
pub(crate) fn fenced(text: &str, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((indent, found)) = line.split_once("```") else {
            continue;
        };
        let block: Vec<&str> = lines
            .by_ref()
            .map(|line| line.strip_prefix(indent).unwrap_or(line))
            .take_while(|line| *line != "```")
            .collect();
        if is_one(found) {
            blocks.push(block.join("\n") + "\n");
        }
    }
    blocks
}

fn blocks(text: &str, language: &str) -> Vec<String> {
    fenced(text, |found| found == language)
}

/// The parts of `text` between single backticks, outside of blocks.
fn quotes(text: &str) -> Vec<String> {
    let mut quotes = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let quoted = line.split('`').skip(1).step_by(2);
            quotes.extend(quoted.map(str::to_owned));
        }
    }
    quotes
}
