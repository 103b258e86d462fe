//! What would be published in real repositories, and whether it is found.
#![allow(clippy::disallowed_methods, reason = "tests make repositories")]

use super::{Places, gather};
use crate::{
    call::{At, call},
    compare::{Finding, List},
    error::Uncompared,
};
use keyhole_core::{Location, Map};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// See its first lines.
const SITUATIONS: &str = include_str!("situations.txt");

/// The situations in which the gate is wrong, and why.
const WRONG: [(&str, &str); 5] = [
    (
        "cd $VAR elsewhere",
        "nobody knows what a variable stands for",
    ),
    (
        "submodule pushed along",
        "its commits are in another repository",
    ),
    (
        "LFS-like filter (clean makes a pointer)",
        "git has only the pointer",
    ),
    (
        "amend that takes it out of the message",
        "the old message is compared whatever takes its place",
    ),
    ("git stash push", "the words are those of a push"),
];

/// Whether a merge ended so, which `git merge -q` says by its exit code.
fn is_conflict(ran: &Output) -> bool {
    String::from_utf8_lossy(&ran.stdout).contains("CONFLICT")
}

/// A folder with a repository `work`, which has pushed all that it has.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(scene.path("work")).unwrap();
        fs::create_dir(scene.path("scratch")).unwrap();
        scene.run(
            "git init -q .; printf 'one\\nWEXELMOOR\\nthree\\n' >a.txt; echo x >b.txt; git add -A
             git commit -qm first; git init -q --bare ../origin
             git remote add origin ../origin; git push -qu origin main",
        );
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a shell's commands in `work`. A merge may end with a conflict.
    fn run(&self, commands: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", commands]).current_dir(self.path("work"));
        shell
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        shell.env("GIT_CONFIG_COUNT", "3");
        for (index, (key, value)) in [
            ("user.name", "Ada"),
            ("user.email", "ada@example.org"),
            ("init.defaultBranch", "main"),
        ]
        .into_iter()
        .enumerate()
        {
            shell.env(format!("GIT_CONFIG_KEY_{index}"), key);
            shell.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        let ran = shell.output().unwrap();
        assert!(ran.status.success() || is_conflict(&ran), "{ran:?}");
    }

    /// What of this call a list has that this map keeps from being published.
    fn found(&self, command: &str, field: &str) -> Result<Vec<Finding>, Uncompared> {
        let work = self.path("work");
        let at = At {
            folder: &work,
            home: Some(self.folder.path()),
        };
        let call = call("Bash", &json!({ "command": command }), at).expect("it publishes");
        let places = Places {
            home: at.home,
            scratch: &self.path("scratch"),
            start: Instant::now(),
        };
        let mut missed = None;
        let mut findings = Vec::new();
        let list = List::new("# Site\n- WEXELMOOR\n".to_owned()).unwrap();
        for gathered in gather(&call, &self.map(field), &places, &mut missed) {
            let end = Instant::now() + Duration::from_secs(60);
            findings.extend(list.findings(&gathered.texts, end)?);
        }
        match missed {
            Some(why) => Err(why),
            None => Ok(findings),
        }
    }

    /// A map with one entry, which has this field.
    fn map(&self, field: &str) -> Map {
        let home = self.folder.path().as_os_str().to_owned();
        let named = Path::new("/maps/m.toml");
        let location = Location::find(Some(named), |_| Some(home.clone())).unwrap();
        let text = format!("[keys]\nk = {{ path = 'a.md', {field} }}");
        Map::parse(text.as_bytes(), &location).unwrap()
    }
}

const NOWHERE: &str = "publish_only_in = []";

#[test]
fn what_each_call_would_publish_is_found_and_nothing_else() {
    let mut wrong: BTreeMap<&str, &str> = WRONG.into();
    let rows = SITUATIONS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut failed = Vec::new();
    for row in rows {
        let (verdict, rest) = row.split_once('|').unwrap();
        let (name, rest) = rest.split_once('|').unwrap();
        let (before, command) = rest.rsplit_once('|').unwrap();
        let scene = Scene::new();
        scene.run(before);
        let found = scene.found(&command.trim().replace("\\n", "\n"), NOWHERE);
        let found = found.unwrap_or_else(|why| panic!("{name}: {why}"));
        let is_right = found.is_empty() == (verdict.trim() == "silent");
        let is_known = wrong.remove(name.trim()).is_some();
        if is_right == is_known {
            failed.push(format!("{name}: {found:?}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(wrong.is_empty(), "no such situation: {wrong:?}");
}
