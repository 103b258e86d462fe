//! What `keyhole check` says of the system's own wall. `cases` has the rest.

use super::homes::install_plugin;
use keyhole_tests::World;
#[cfg(target_os = "linux")]
use {
    crate::wall::{NO_FILTER, NO_LANDLOCK, stands},
    keyhole_tests::lacking,
};

/// What `check` says, without the lines that are about that wall.
#[track_caller]
pub(crate) fn said(world: &World, arguments: &[&str], exit: i32) -> String {
    let ran = world.run(["check"].iter().chain(arguments)).exits(exit);
    let ran = ran.says_nothing_on_stderr();
    let lines = ran.stdout.split_inclusive('\n');
    let is_other =
        |line: &&str| !line.contains("the map has no roots") && !line.starts_with("wall: ");
    lines.filter(is_other).collect()
}

/// The plugin is on here: that it is off, only the plugin's command says.
#[cfg(target_os = "linux")]
#[test]
fn the_plugins_command_says_of_each_line_of_the_map_what_the_program_says() {
    let own = "keys.keyhole-privacy-catalog";
    for (entry, more) in [
        (own, "agents = ['keyhole:privacy-scanner']"),
        (own, "agents = ['keyhole@market:privacy-scanner']"),
        (own, "agents = ['keyhole:privacy-scanner', 'reviewer']"),
        (own, "agents = ['keyhole:privacy-scaner']"),
        (own, "agents = ['privacy-scanner']"),
        (own, "agents = ['acme:reviewer']"),
        (own, "max_bytes = 1"),
        (own, ""),
        ("keys.k-7f3a9c55aa01beef", "agents = ['acme:reviewer']"),
        ("keys.k-7f3a9c55aa01beef", "agents = ['reviewer']"),
        ("bindings.b", "agents = ['reviewer']"),
        ("bindings.b", "agents = ['keyhole:privacy-scanner']"),
    ] {
        let enabled = "{\"enabledPlugins\": {\"keyhole@keyhole\": true}}";
        let map = format!("roots = ['~/private']\n[{entry}]\npath = '~/private/a.md'\n{more}\n");
        let world = World::new()
            .file("private/a.md", "- hunter2\n")
            .file(".claude/settings.json", enabled)
            .map(&map);
        install_plugin(&world);
        let (said, exit) = world.asked(["check"], &[]);
        let (plugins, plugins_exit) = world.asked(["check", "--plugin", "/p"], &[]);
        // Which agent is meant, if the map has nothing for it, only the plugin's command knows.
        let no_entry = "keyhole:privacy-scanner: the map has no entry with its key";
        if plugins.contains(no_entry) {
            let same = plugins.lines().filter(|line| !line.starts_with(no_entry));
            assert!(same.eq(said.lines()), "{entry} {more}: {said}{plugins}");
        } else {
            assert_eq!((&said, exit), (&plugins, plugins_exit), "{entry} {more}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_closing_line_says_which_walls_stand_if_not_all_do_or_if_asked() {
    let closes = |says: &str| {
        let ran = World::new().map("").run(["check", "-v"]).exits(0);
        let last = ran.stdout.split_inclusive('\n').next_back().unwrap();
        assert!(last.starts_with(&format!("wall: {says}")), "{last}");
    };
    if stands() {
        let cannot = "a server cannot write, make sockets, start programs or reach other processes, and reads";
        closes(&format!("{cannot} whatever you may (Landlock ABI "));
        let _ = World::new().map("").run(["check"]).conceals("wall: ");
        let rooted = World::new().directory("a").map("roots = ['~/a']\n");
        let _ = rooted
            .run(["check", "-v"])
            .mentions(&format!("{cannot} in the roots only (Landlock ABI "));
    }
    for (lacks, says) in [
        (
            &[NO_LANDLOCK][..],
            "not whole on this system (no Landlock, system-call filter)\n",
        ),
        (
            &[NO_LANDLOCK, NO_FILTER],
            "none on this system; only the sandbox holds a call\n",
        ),
    ] {
        lacking(lacks, || closes(says));
    }
}
