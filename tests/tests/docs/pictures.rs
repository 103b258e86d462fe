//! The pictures of a terminal in README show what the program really prints.

use super::is_committed;
use keyhole_tests::{World, demo};
use std::{fmt::Write as _, iter};

/// A longer line goes on in the next row.
const COLUMNS: usize = 104;
/// What does not fit into this many rows is cut off.
const MOST_ROWS: usize = 2;
/// The width of a character and the height of a row, in pixels.
const SIZE: (f32, usize) = (7.3, 18);

/// The line in rows. All but the first are indented.
fn rows(line: &str) -> Vec<String> {
    const INDENT: usize = 5;
    let mut rest: Vec<char> = line.chars().collect();
    let mut rows = Vec::new();
    while rows.is_empty() || (!rest.is_empty() && rows.len() < MOST_ROWS) {
        let indent = if rows.is_empty() { 0 } else { INDENT };
        let fits = COLUMNS - indent;
        let mut end = rest.len().min(fits);
        if end < rest.len() {
            let nearby = &rest[end - 20..end];
            if let Some(blank) = nearby.iter().rposition(|c| *c == ' ') {
                end = end - 20 + blank + 1;
            }
        }
        rows.push(" ".repeat(indent) + &String::from_iter(rest.drain(..end)));
    }
    if let (Some(last), false) = (rows.last_mut(), rest.is_empty()) {
        last.pop();
        last.push('…');
    }
    rows
}

/// A terminal with `command` and what it printed, as SVG.
fn picture(command: &str, printed: &str) -> String {
    let asked = format!("$ {command}");
    let lines = iter::once(&*asked).chain(printed.trim_matches('\n').lines());
    let rows: Vec<_> = lines.flat_map(rows).collect();
    let width = (COLUMNS as f32 * SIZE.0) as usize + 32;
    let height = (rows.len() + 1) * SIZE.1 + 16;
    let mut svg = format!(
        "<!-- Made by `./x bless` from what the program prints. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"what {command} prints\">\n\
         <style>text{{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#d6dbe0;white-space:pre}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1e2429\"/>\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let text = row.replace('&', "&amp;").replace('<', "&lt;");
        let text = text.replace('>', "&gt;");
        let y = (number + 1) * SIZE.1 + 8;
        writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\" xml:space=\"preserve\">{text}</text>"
        )
        .unwrap();
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_check_is_what_it_prints() {
    let ran = World::new()
        .file("notes/identifiers.md", "# Identifiers to look for\n")
        .file("notes/glossary.md", "x".repeat(70_000))
        .map(
            "roots = [\"~/notes\"]\n\
             [keys]\n\
             \"k-2c1f8a96d0e34b57\" = \"~/notes/identifiers.md\"\n\
             \"k-91c0d2e4f6a8b0c1\" = { path = \"~/notes/glossary.md\", max_bytes = 65536 }\n\
             \"k-5e0b7d1c9f3a2468\" = { path = \"~/notes/gone.md\", agents = [\"acme:reviewer\"] }\n",
        )
        .run(["check"])
        .exits(1);
    let printed = ran.stdout.replace("HOME", "/home/jane");
    // On a kernel without the whole wall, another line follows.
    let printed = printed.split("\nwall: ").next().unwrap_or_default();
    let printed = format!("{}\n", printed.trim_end_matches('\n'));
    is_committed("docs/check.svg", &picture("keyhole check", &printed));
}

#[test]
fn the_picture_of_the_demo_is_what_it_prints() {
    let ran = World::new().through([demo()]).run([""; 0]).exits(0);
    // Each run has a folder of its own.
    let (before, rest) = ran.stdout.split_once("roots = [\"").unwrap();
    let (folder, rest) = rest.split_once("/notes\"]").unwrap();
    let printed =
        format!("{before}roots = [\"/tmp/demo/notes\"]{rest}").replace(folder, "/tmp/demo");
    let (beginning, _) = printed.split_once("\n5. ").unwrap();
    let printed = format!("{beginning}\n… then the messages, and what is refused");
    is_committed("docs/demo.svg", &picture("./x demo", &printed));
}
