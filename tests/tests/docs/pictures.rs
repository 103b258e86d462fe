//! The pictures of a terminal in README show what the program really prints.

use keyhole_tests::{World, workspace};
use std::{env, fmt::Write as _, fs};

/// Longer lines end with `…`.
const COLUMNS: usize = 104;
/// The width of a character and the height of a line, in pixels.
const SIZE: (f32, usize) = (7.3, 18);

/// A terminal with `command` and what it printed, as SVG.
fn picture(command: &str, printed: &str) -> String {
    let lines: Vec<&str> = printed.trim_matches('\n').lines().collect();
    let width = (COLUMNS as f32 * SIZE.0) as usize + 32;
    let height = (lines.len() + 2) * SIZE.1 + 16;
    let mut svg = format!(
        "<!-- Made by `./x bless` from what the program prints. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"what {command} prints\">\n\
         <style>text{{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#d6dbe0;white-space:pre}}\
         .p{{fill:#7bd88f}}.t{{fill:#fff;font-weight:bold}}.s{{fill:#8ab4f8}}.c{{fill:#9aa4ae}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1e2429\"/>\n"
    );
    let mut add = |number: usize, class: &str, line: &str| {
        let mut shown: String = line.chars().take(COLUMNS).collect();
        if line.chars().count() > COLUMNS {
            shown.pop();
            shown.push('…');
        }
        let shown = shown
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let y = (number + 1) * SIZE.1 + 8;
        writeln!(
            svg,
            "<text class=\"{class}\" x=\"16\" y=\"{y}\" xml:space=\"preserve\">{shown}</text>"
        )
        .unwrap();
    };
    add(0, "p", &format!("$ {command}"));
    for (number, line) in lines.iter().enumerate() {
        let class = match line.trim_start() {
            step if step.as_bytes().get(1..3) == Some(b". ") => "t",
            sent if sent.starts_with("-> ") => "s",
            comment if comment.starts_with("# ") => "c",
            _ => "",
        };
        add(number + 1, class, line);
    }
    svg + "</svg>\n"
}

/// Compares a picture with the committed one, or replaces the committed one.
fn is_committed(path: &str, picture: &str) {
    let path = workspace().join(path);
    if env::var_os("KEYHOLE_BLESS").is_some() {
        fs::write(&path, picture).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == picture,
        "{} is not what the program prints; run `./x bless` and look at the picture",
        path.display()
    );
}

#[test]
fn the_picture_of_check_is_what_it_prints() {
    let ran = World::new()
        .file("notes/identifiers.md", "# Identifiers to look for\n")
        .file("notes/glossary.md", "x".repeat(70_000))
        .map(
            "[keys]\n\
             \"k-2c1f8a96d0e34b57\" = \"~/notes/identifiers.md\"\n\
             \"k-91c0d2e4f6a8b0c1\" = { path = \"~/notes/glossary.md\", max_bytes = 65536 }\n\
             \"k-5e0b7d1c9f3a2468\" = { path = \"~/notes/gone.md\", agents = [\"acme:reviewer\"] }\n",
        )
        .run(["check"])
        .exits(1)
        // This line depends on the kernel.
        .closes_with("second wall: ");
    let printed = ran.stdout.replace("HOME", "/home/jane");
    is_committed("docs/check.svg", &picture("keyhole check", &printed));
}

#[test]
fn the_picture_of_the_demo_is_what_it_prints() {
    let ran = World::new().run(["demo"]).exits(0);
    // Each run has a folder of its own.
    let (before, rest) = ran.stdout.split_once("roots = [\"").unwrap();
    let (folder, rest) = rest.split_once("/notes\"]").unwrap();
    let printed =
        format!("{before}roots = [\"/tmp/demo/notes\"]{rest}").replace(folder, "/tmp/demo");
    let (beginning, _) = printed
        .split_once("\n  # a key that was mapped to a directory")
        .unwrap();
    let printed = format!("{beginning}\n\n… and so on for every other refusal");
    is_committed("docs/demo.svg", &picture("keyhole demo", &printed));
}
