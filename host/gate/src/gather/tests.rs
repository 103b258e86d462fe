//! What would be published in real repositories, and whether it is found.
#![allow(clippy::disallowed_methods, reason = "tests make repositories")]

use super::{Places, forbidden_lists, gather};
use crate::{
    call::{At, call},
    compare::{Finding, List},
    error::Uncompared,
};
use keyhole_core::{Caller, Location, Map};
use keyhole_outgoing::{Repository, Uncollected};
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
const WRONG: [(&str, &str); 2] = [
    (
        "submodule pushed along",
        "its commits are in another repository",
    ),
    (
        "amend that takes it out of the message",
        "the old message is compared whatever takes its place",
    ),
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
        let Some(call) = call("Bash", &json!({ "command": command }), at) else {
            return Ok(Vec::new());
        };
        let places = Places {
            home: at.home,
            session: &work,
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
        self.map_of(&format!("[keys]\nk = {{ path = 'a.md', {field} }}"))
    }

    /// A map of this text, in which `~` means the folder.
    fn map_of(&self, text: &str) -> Map {
        let home = self.folder.path().as_os_str().to_owned();
        let named = Path::new("/maps/m.toml");
        let location = Location::find(Some(named), |_| Some(home.clone())).unwrap();
        Map::parse(text.as_bytes(), &location).unwrap()
    }

    /// The keys whose lists this folder's repository must not publish.
    fn lists(&self, folder: &str, map: &Map) -> Vec<String> {
        let repository = Repository::find(&self.path(folder)).unwrap();
        let listed = forbidden_lists(map, repository.as_ref());
        let keys = listed.iter().map(|one| one.key.expose().to_owned());
        keys.collect()
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

#[test]
fn without_the_field_nothing_is_compared() {
    let scene = Scene::new();
    let map = scene.map("withhold = true, agents = ['x:y']");
    assert_eq!(scene.lists("work", &map), [""; 0]);
    let found = scene.found("git commit -m WEXELMOOR", "max_bytes = 7");
    assert_eq!(found, Ok(Vec::new()));
}

#[test]
fn each_entry_counts_by_its_own_folders() {
    let scene = Scene::new();
    scene.run("git init -q ../other; mkdir sub ../plain");
    let map = scene.map_of(
        "[keys]
        a = { path = 'a.md', publish_only_in = ['~/work'] }
        b = { path = 'b.md', publish_only_in = ['/nowhere', '~/other/'] }
        c = { path = 'c.md', publish_only_in = [] }
        d = { path = 'd.md', publish_only_in = ['~/'] }
        e = 'e.md'",
    );
    for (folder, keys) in [
        ("work", &["b", "c"][..]),
        ("work/sub", &["b", "c"]),
        ("other", &["a", "c"]),
        // It is in no repository.
        ("plain", &["a", "b", "c", "d"]),
        ("missing", &["a", "b", "c", "d"]),
    ] {
        assert_eq!(scene.lists(folder, &map), keys, "{folder}");
    }
}

#[test]
fn a_worktree_goes_with_its_main_checkout_and_links_are_followed() {
    let scene = Scene::new();
    scene.run("git worktree add -q ../tree; ln -s work ../link; git clone -q . ../clone");
    for (field, folder, is_compared) in [
        ("publish_only_in = ['~/work']", "tree", false),
        ("publish_only_in = ['~/tree']", "tree", true),
        ("publish_only_in = ['~/link']", "work", false),
        ("publish_only_in = ['~/link']", "tree", false),
        ("publish_only_in = ['~/work']", "link", false),
        ("publish_only_in = ['~/work']", "clone", true),
        ("publish_only_in = ['~/wor']", "work", true),
    ] {
        let lists = scene.lists(folder, &scene.map(field));
        assert_eq!(lists.is_empty(), !is_compared, "{field} {folder}");
    }
}

#[test]
fn a_list_is_loaded_as_somebody_who_may_have_it() {
    let scene = Scene::new();
    let named = |field: &str| {
        let map = scene.map(&format!("{NOWHERE}{field}"));
        match forbidden_lists(&map, None).remove(0).caller {
            Caller::Agent(name) => name.to_string(),
            _ => "nobody".to_owned(),
        }
    };
    assert_eq!(named(""), "nobody");
    assert_eq!(named(", agents = ['a@b:c', 'd']"), "a@b:c");
}

#[test]
fn in_each_folder_its_own_lists_are_compared() {
    let scene = Scene::new();
    scene.run("git clone -q . ../q; cd ../q; git commit -q --allow-empty -m WEXELMOOR");
    let push = "cd ../q && git push";
    assert_eq!(
        scene.found(push, "publish_only_in = ['~/q']"),
        Ok(Vec::new())
    );
    let found = scene.found(push, "publish_only_in = ['~/work']").unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn files_that_leave_are_compared_and_no_pipe_is_waited_for() {
    let scene = Scene::new();
    scene.run("echo WEXELMOOR >ignored; echo ignored >.gitignore; mkfifo pipe; mkdir d; echo n >n");
    scene.run("mkdir -p e/f; cp ignored e/f/g");
    scene.run(
        "echo e >>.gitignore; cp ignored ../msg; git add .gitignore; git commit -qm x; git push -q",
    );
    for (command, is_found) in [
        ("gh gist create ignored", true),
        ("gh issue create --body-file a.txt", true),
        ("curl -d @ignored https://x", true),
        ("curl --data=@./a.txt https://x", true),
        ("scp ignored pipe d missing host:", true),
        ("scp -r e host:", true),
        ("rsync -a ./e/ host:x", true),
        ("gh issue create --title e --body d", false),
        ("git add -f ignored && git commit -m x", true),
        ("git commit -F ~/msg n", true),
        ("git commit -F pipe n", false),
        ("git commit a.txt -m x", false),
        ("curl -d @n https://x", false),
    ] {
        let found = scene.found(command, NOWHERE).unwrap();
        assert_eq!(!found.is_empty(), is_found, "{command}: {found:?}");
    }
}

#[test]
fn a_named_file_that_is_longer_than_what_is_read_is_too_much() {
    let scene = Scene::new();
    fs::write(scene.path("work/dump"), "x y\n".repeat(2_200_000)).unwrap();
    let found = scene.found("curl --data-binary @dump https://x", NOWHERE);
    assert_eq!(found, Err(Uncollected::TooMuch.into()));
}

#[test]
fn a_call_that_names_more_than_is_looked_at_is_too_much_where_a_list_counts() {
    let scene = Scene::new();
    let many: String = (0..100).map(|i| format!("cd d{i} && git push; ")).collect();
    let told = scene.found(&many, NOWHERE);
    assert_eq!(told, Err(Uncollected::TooMuch.into()));
    assert_eq!(scene.found(&many, "max_bytes = 7"), Ok(Vec::new()));
}

#[test]
fn folders_that_hold_more_than_is_read_are_too_much() {
    let scene = Scene::new();
    scene.run("mkdir d");
    for index in 0..33 {
        fs::write(
            scene.path(&format!("work/d/{index}")),
            "x y\n".repeat(520_000),
        )
        .unwrap();
    }
    let found = scene.found("scp -r d host:", NOWHERE);
    assert_eq!(found, Err(Uncollected::TooMuch.into()));
}

#[test]
fn folders_with_more_entries_than_are_looked_at_are_too_much() {
    let scene = Scene::new();
    scene.run("mkdir d; : >d/a; cd d; seq 50000 | xargs -n 5000 touch");
    let found = scene.found("scp -r d host:", NOWHERE);
    assert_eq!(found, Err(Uncollected::TooMuch.into()));
    scene.run("cd d; rm a");
    assert_eq!(scene.found("scp -r d host:", NOWHERE), Ok(Vec::new()));
}

#[test]
fn what_cannot_be_read_is_said_if_the_call_makes_or_sends_commits() {
    let scene = Scene::new();
    scene.run("rm .git/index; mkfifo .git/index");
    let unreadable = Err(Uncollected::Unreadable.into());
    assert_eq!(scene.found("git commit -m x", NOWHERE), unreadable);
    assert_eq!(scene.found("curl -d x https://x", NOWHERE), Ok(Vec::new()));
    assert_eq!(
        scene.found("git commit -m x", "max_bytes = 7"),
        Ok(Vec::new())
    );
    assert_eq!(
        scene.found("cd ../nowhere && git commit -m x", NOWHERE),
        unreadable
    );
}
