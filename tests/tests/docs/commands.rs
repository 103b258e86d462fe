//! Every `keyhole` command that the documents give is run, as it stands, in a home with a
//! map. Of `./x` and cargo, this checks that there is what they name.

use super::{DOCUMENTS, blocks, quotes, read};
use keyhole_tests::{World, workspace};
use serde_json::Value;
use std::{collections::BTreeSet, process::Command};

/// What stands for something of the reader's own, and what is typed instead.
const PLACEHOLDERS: [(&str, &str); 3] = [
    ("CLIENT", "claude-code"),
    ("FILE", "~/notes/identifiers.md"),
    ("NAME", "house-rules"),
];

/// Those that do nothing without the input that a client gives them, without a user at a
/// terminal, or without the whole wall. Tests of their own run them.
const ELSEWHERE: [&str; 16] = [
    "keyhole guard",
    "keyhole inject",
    "keyhole setup CLIENT --bind NAME --file FILE",
    "keyhole setup claude-code --bind house-rules --file FILE",
    "keyhole setup claude-code --inject identifier-scanner --file FILE",
    "keyhole setup claude-code --inject reviewer --file FILE",
    "keyhole setup plugin",
    "keyhole setup plugin --file FILE",
    "keyhole setup remove NAME",
    "keyhole setup remove plugin",
    "keyhole setup remove reviewer",
    "keyhole serve --require-wall",
    "keyhole scan",
    "keyhole scan FILE...",
    "keyhole scan; code=$?",
    "keyhole withhold",
];

/// The commands of a document: the lines of its shell blocks, and each quoted text that
/// begins with a program and continues. What follows a `#` or changes the output is left out.
fn commands(document: &str) -> BTreeSet<String> {
    let text = read(document);
    let blocks = [blocks(&text, "sh"), blocks(&text, "")].concat().join("");
    let lines = blocks.lines().map(str::to_owned).chain(quotes(&text));
    lines
        .map(|line| line.split("  # ").next().unwrap().trim().to_owned())
        .filter(|line| line.contains(' '))
        .collect()
}

#[test]
fn every_command_of_ours_does_something() {
    let world = World::new()
        .file("notes/identifiers.md", "- Jane Q. Example\n")
        .map("[keys]\nk-2c1f8a96d0e34b57 = '~/notes/identifiers.md'\n");
    let mut tried = 0;
    for command in DOCUMENTS.into_iter().flat_map(commands) {
        if !command.starts_with("keyhole ") || ELSEWHERE.contains(&&*command) {
            continue;
        }
        let typed = PLACEHOLDERS.iter().fold(command, |command, (word, other)| {
            command.replace(&format!(" {word}"), &format!(" {other}"))
        });
        let ran = world.typed(&format!("{typed} </dev/null")).exits(0);
        let is_server = typed.starts_with("keyhole serve");
        assert_eq!(ran.stdout.is_empty(), is_server, "{typed}: {ran:#?}");
        tried += 1;
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn every_command_of_the_repository_is_there() {
    let own = listed(&["help"], "usage: ./x COMMAND");
    let of_release = listed(&["release", "help"], "usage: ./x release COMMAND");
    for command in DOCUMENTS.into_iter().flat_map(commands) {
        let exists = match command.split(' ').collect::<Vec<_>>()[..] {
            // The other commands call `setup`.
            ["./x", "help" | "setup", ..] | ["./x", "release", "help", ..] => true,
            ["./x", "release", name, ..] => of_release.contains(name),
            ["./x", name, ..] => own.contains(name),
            ["cargo", "install", .., "--path", path] => {
                workspace().join(path).join("Cargo.toml").is_file()
            }
            _ => true,
        };
        assert!(exists, "{command}");
    }
    assert!(x(&["counts"]).contains("A first look: "));
}

/// In the image, the program runs as another user, who may not read a map of the reader's.
#[test]
fn the_registrys_entry_starts_the_container_as_the_page_does() {
    let entry: Value = serde_json::from_str(&read("release/server.json")).unwrap();
    let packages = entry["packages"].as_array().unwrap();
    let image = packages.iter().find(|one| one["registryType"] == "oci");
    let mut typed = "podman run -i --rm".to_owned();
    for argument in image.unwrap()["runtimeArguments"].as_array().unwrap() {
        for part in ["name", "value"] {
            if let Some(word) = argument[part].as_str() {
                typed += &format!(" {word}");
            }
        }
    }
    let typed = typed
        .replace("{user}", "\"$(id -u):$(id -g)\"")
        .replace("{home}", "~")
        .replace("{notes}", "~/notes");
    let page = read("docs/install.md");
    let line = page.lines().find(|line| line.starts_with("podman run "));
    assert!(line.unwrap().starts_with(&typed), "{typed}");
}

/// Without a part, `.ci/run` runs them all, in order.
#[test]
fn github_runs_each_part_of_ci() {
    let workflow = read(".github/workflows/ci.yml");
    let script = read(".ci/run");
    let (_, all) = script.split_once("\nall() {\n").unwrap();
    let (all, cases) = all.split_once("\n}\n").unwrap();
    let (_, cases) = cases.split_once("\ncase ").unwrap();
    let parts: Vec<&str> = cases
        .lines()
        .filter_map(|line| line.trim().split_once(") "))
        .map(|(part, _)| part)
        .filter(|part| part.chars().all(char::is_alphabetic))
        .collect();
    for part in &parts {
        assert!(all.contains(&format!("\n    {part}")), "{part}");
    }
    let matrix = format!("part: [{}]\n", parts.join(", "));
    assert!(workflow.contains(&matrix), "{matrix}");
    assert!(workflow.contains("- run: .ci/run ${{ matrix.part }}"));
}

fn x(arguments: &[&str]) -> String {
    let mut x = Command::new("./x");
    let ran = x.args(arguments).current_dir(workspace()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The commands that the script lists in its usage, which begins so.
fn listed(arguments: &[&str], begins: &str) -> BTreeSet<String> {
    let usage = x(arguments);
    assert!(usage.contains(begins), "{usage}");
    let lines = usage.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}
