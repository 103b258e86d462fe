//! docs/attacks.md: every attack, and its outcome when the tests ran.
//!
//! Each test compares its own line with the file, or writes it there if
//! `KEYHOLE_BLESS` is set. The tests themselves assert what must never happen: a line
//! in the file cannot allow it.

use super::{guest, imports, map, names, shapes, swaps, tree};
use keyhole_tests::workspace;
use std::{
    collections::HashMap,
    env,
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
};

const HEAD: &str = "\
# Attacks, and what came of them

Written by the tests of `tests/tests/hostile/`: `./x test` fails if a line is
not what happens, `./x bless` writes it again. Each line is a test of that name.
After each attack, the next honest call was served: the tests assert that too.
";

/// A table of attacks of one kind.
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// Name, and what it does.
    pub(super) attacks: &'static [(&'static str, &'static str)],
}

const SECTIONS: [&Section; 9] = [
    &guest::READS,
    &guest::WRITES,
    &guest::RESOURCES,
    &shapes::SECTION,
    &imports::SECTION,
    &tree::SECTION,
    &names::SECTION,
    &swaps::SECTION,
    &map::SECTION,
];

impl Section {
    /// The attack `name` got `got`, and the next call was served.
    #[track_caller]
    pub(super) fn record(&self, name: &str, got: &str) {
        let line = self.line(name, got);
        if env::var_os("KEYHOLE_BLESS").is_some() {
            // Other tests write at the same time.
            let lock =
                File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacks.lock")).unwrap();
            lock.lock().unwrap();
            let mut lines = lines();
            lines.insert(self.place(name), line);
            fs::write(path(), render(&lines)).unwrap();
        } else {
            let known = lines().remove(&self.place(name));
            assert_eq!(
                known.as_deref(),
                Some(&*line),
                "docs/attacks.md differs: see ./x bless"
            );
        }
    }

    fn line(&self, name: &str, got: &str) -> String {
        let (_, about) = self
            .attacks
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap();
        format!(
            "| `{name}` | {about} | {} |",
            got.replace('|', "\\|").replace('\n', " ")
        )
    }

    fn place(&self, name: &str) -> (String, String) {
        (self.heading.to_owned(), name.to_owned())
    }
}

fn path() -> PathBuf {
    workspace().join("docs/attacks.md")
}

/// The lines of the file, by heading and name.
fn lines() -> HashMap<(String, String), String> {
    let text = fs::read_to_string(path()).unwrap_or_default();
    let mut heading = "";
    let mut lines = HashMap::new();
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("## ") {
            heading = next;
        } else if let Some((name, _)) = line
            .strip_prefix("| `")
            .and_then(|line| line.split_once("` |"))
        {
            lines.insert((heading.to_owned(), name.to_owned()), line.to_owned());
        }
    }
    lines
}

/// The text of the file with these lines: all attacks, in the order of their lists.
fn render(lines: &HashMap<(String, String), String>) -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        write!(
            text,
            "\n## {}\n\n| attack | it | it got |\n|---|---|---|\n",
            section.heading
        )
        .unwrap();
        for (name, _) in section.attacks {
            match lines.get(&section.place(name)) {
                Some(line) => writeln!(text, "{line}").unwrap(),
                None => writeln!(text, "{}", section.line(name, "(not run)")).unwrap(),
            }
        }
    }
    text
}

#[test]
fn the_table_lists_every_attack_and_nothing_else() {
    if env::var_os("KEYHOLE_BLESS").is_some() {
        return; // it is just being written
    }
    let text = fs::read_to_string(path()).unwrap();
    assert!(!text.contains("(not run)"), "run ./x bless");
    assert_eq!(render(&lines()), text, "run ./x bless");
}
