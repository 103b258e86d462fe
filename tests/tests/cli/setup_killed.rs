//! `keyhole setup` and its `remove` in a terminal, killed before each system call by which they
//! change files. What a killed run wrote beside a file goes with the next run that writes it.

use super::homes::{self, Files};
use keyhole_tests::{World, skipped};
use rustix::{
    fs::{XattrFlags, getxattr, setxattr},
    process::geteuid,
};
use serde_json::{Value, json};
use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

const KILLER: &str = env!("CARGO_BIN_EXE_kill-at");
const SETTINGS: &str = ".claude/settings.json";
const INSTALL: &str = "setup claude-code --bind house-rules --file ~/private/identifiers.md";
const REMOVE: &str = "setup remove house-rules";
const PLUGIN: &str = "setup plugin --file ~/private/identifiers.md";

fn home() -> World {
    let world = World::new()
        .file("private/identifiers.md", "# Name\nJane Q. Example\n")
        .file(SETTINGS, "{\r\n  \"model\": \"x\"\r\n}")
        .map("# mine\nroots = ['~/notes']\n");
    // Not the mode of a new file.
    world.mode(SETTINGS, 0o640);
    world
}

/// Each file's mode and text.
fn files(world: &World) -> Files {
    let mut all = homes::files(world);
    all.retain(|name, _| !name.ends_with('/'));
    all
}

/// Says yes to each question.
#[track_caller]
fn agreed(world: &World, command: &str) {
    let (shown, exit) = world.agreed(command.split(' '));
    assert_eq!(exit, Some(0), "{shown}");
}

/// The files before, with the agent, and when it is taken away again.
struct States([Files; 3]);

impl States {
    /// Whether it is killed at the call with this number: each file is then as before or as
    /// after. A second run finishes it, and another one takes it back.
    fn is_killed_at(&self, number: u32, removes: bool) -> bool {
        let Self([old, new, taken]) = self;
        let world = home();
        if removes {
            agreed(&world, INSTALL);
        }
        let (command, before, after) = if removes {
            (REMOVE, new, taken)
        } else {
            (INSTALL, old, new)
        };
        let world = world.through([KILLER, &number.to_string()]);
        let (shown, exit) = world.agreed(command.split(' '));
        if exit == Some(0) {
            assert_eq!(files(&world), *after);
            return false;
        }
        assert_eq!(exit, Some(137), "{shown}");
        let left = |world: &World| {
            let mut left = files(world);
            left.retain(|name, _| !name.contains(".keyhole-"));
            left
        };
        let there = left(&world);
        let mut all = before.keys().chain(after.keys()).chain(there.keys());
        let is_one = |name| {
            let now = there.get(name);
            now == before.get(name) || now == after.get(name)
        };
        assert!(all.all(is_one), "{number}: {there:?}");
        // Without the killer.
        let world = world.through::<&str>([]);
        if !removes {
            agreed(&world, INSTALL);
            assert_eq!(files(&world), *new, "{number}");
        }
        let (shown, exit) = world.agreed(REMOVE.split(' '));
        let is_gone = removes && shown.contains("nothing of this name");
        assert!(exit == Some(0) || is_gone, "{number}: {shown}");
        let mut there = left(&world);
        // Once the map is written, it names the file no more.
        if shown.contains("A rule that names your file may stay in permissions.deny") {
            let settings = there[SETTINGS].1.replace('␍', "\r");
            let value: Value = serde_json::from_str(&settings).unwrap();
            let rules = ["Read(~/private/**)", "Read(~/private/identifiers.md)"];
            assert_eq!(value["permissions"]["deny"], json!(rules), "{number}");
            there.insert(SETTINGS.to_owned(), taken[SETTINGS].clone());
        }
        assert_eq!(there, *taken, "{number}");
        true
    }
}

#[test]
fn a_setup_or_removal_that_is_killed_leaves_each_file_old_or_new_and_can_be_finished_and_taken_back()
 {
    let probe = Command::new(KILLER).args(["0", "/bin/true"]).status();
    if probe.unwrap().code() == Some(77) {
        return skipped("no program can be followed here");
    }
    let world = home();
    let mut states = States([files(&world), Files::new(), Files::new()]);
    for (at, command) in [(1, INSTALL), (2, REMOVE)] {
        agreed(&world, command);
        states.0[at] = files(&world);
    }
    // The map's roots stay.
    let States([old, _, taken]) = &mut states;
    let map = ".config/keyhole/context-map.toml";
    let with_roots = old[map].1.replace("']", "', \"~/private\"]");
    assert_eq!(taken[map].1, with_roots);
    let mut taken = taken.iter();
    assert!(taken.all(|(name, file)| name == map || old[name] == *file));
    // Three files are replaced, each by six calls at least; or two, and one is removed.
    for (removes, calls) in [(false, 3 * 6), (true, 2 * 6 + 1)] {
        let next = AtomicU32::new(0);
        let next = || next.fetch_add(1, Ordering::Relaxed);
        // Most of the time, a run waits for a new file to settle.
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| while states.is_killed_at(next(), removes) {});
            }
        });
        // Beside those that were not killed.
        let killed = next() - 8;
        assert!(killed >= calls, "{killed}");
    }
}

const LIST: &str = "system.posix_acl_access";

/// An access list by which this user may do so: the owner, the user, the group, the mask, and
/// others; each with what it may.
fn list(user: u32, may: u16) -> Vec<u8> {
    let entries = [(1u16, 6u16, u32::MAX), (2, may, user), (4, 0, u32::MAX)];
    let entries = entries
        .into_iter()
        .chain([(16, 6, u32::MAX), (32, 0, u32::MAX)]);
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, may, who) in entries {
        list.extend([tag.to_le_bytes(), may.to_le_bytes()].concat());
        list.extend(who.to_le_bytes());
    }
    list
}

#[test]
fn an_access_list_is_not_lost_and_none_comes_from_the_folder() {
    let list = list(65534, 6);
    let world = home().directory(".claude/agents");
    let set = |place: &str, name| setxattr(world.path(place), name, &list, XattrFlags::empty());
    if set(SETTINGS, LIST).is_err() {
        return skipped("no file has an access list here");
    }
    set(".claude/agents", "system.posix_acl_default").unwrap();
    agreed(&world, INSTALL);
    let get = |place: &str| {
        let mut found = [0; 64];
        let length = getxattr(world.path(place), LIST, &mut found);
        length.ok().map(|length| found[..length].to_vec())
    };
    assert_eq!(get(SETTINGS), Some(list.clone()));
    assert_eq!(get(".claude/agents/house-rules.md"), None);
}

#[test]
fn check_warns_of_a_file_that_its_access_list_lets_others_read() {
    let world = home().file("n/a.md", "text");
    world.mode("", 0o755);
    world.mode("n", 0o755);
    world.mode("n/a.md", 0o600);
    world.write_map("[keys]\nk-7f3a9c55aa01beef = '~/n/a.md'\n");
    for (user, is_others) in [(geteuid().as_raw(), false), (65534, true)] {
        let list = list(user, 4);
        if setxattr(world.path("n/a.md"), LIST, &list, XattrFlags::empty()).is_err() {
            return skipped("no file has an access list here");
        }
        let said = world.run(["check"]).stdout;
        let warns = said.contains("a group or others may read the file");
        assert_eq!(warns, is_others, "{user}: {said}");
    }
}

/// What an agent would try.
#[test]
fn an_agent_that_runs_it_gets_nothing_changed() {
    let of_clients = "AI_AGENT CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_PLUGIN_DATA CODEX_CI CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_THREAD_ID COPILOT_CLI CURSOR_AGENT GEMINI_CLI OPENCODE QWEN_CODE";
    let of_sudo = "SUDO_UID SUDO_USER DOAS_USER PKEXEC_UID";
    let of_clients = of_clients
        .split(' ')
        .map(|name| (name, "from a client's shell"));
    let of_sudo = of_sudo.split(' ').map(|name| (name, "under sudo"));
    for (variable, says) in of_clients.chain(of_sudo) {
        let world = home().env(variable, "1");
        let before = files(&world);
        for command in [PLUGIN, "setup", REMOVE] {
            let (shown, exit) = world.agreed(command.split(' '));
            let says = format!("nothing is changed {says}: ");
            assert!(
                exit == Some(1) && shown.contains(&says),
                "{variable}: {shown}"
            );
        }
        assert_eq!(files(&world), before);
    }
}
