//! What `keyhole check` says of the system's own wall. `cases` has the rest.

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
