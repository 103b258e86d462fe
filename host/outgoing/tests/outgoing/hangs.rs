//! A FIFO or a device in a repository never makes a look wait without end.

use crate::world::{World, everything};
use keyhole_outgoing::Uncollected;
use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

/// What is a FIFO where we come upon it, or where git sees that it is one.
const FOUND: [&str; 10] = [
    "rm .git/HEAD; mkfifo .git/HEAD",
    "mkfifo .git/refs/heads/x",
    "rm -f .git/packed-refs; mkfifo .git/packed-refs",
    "rm .git/index; mkfifo .git/index",
    "mkfifo .git/shallow",
    "rm -f .git/info/exclude; mkfifo .git/info/exclude",
    "mkfifo .git/commondir",
    "mv .git ../g; mkfifo .git",
    "mkfifo .git/objects/info/alternates",
    "rm b.txt; mkfifo b.txt",
];

/// What is a FIFO where only git comes upon it.
const WAITED_FOR: [&str; 4] = [
    "git gc -q; cd .git/objects/pack; chmod u+w *; i=$(echo *.idx); rm $i; mkfifo $i",
    "mkfifo .gitattributes",
    "mkdir d; mkfifo d/.gitignore; echo x >d/n",
    "o=.git/objects/$(git rev-parse HEAD | sed 's,^..,&/,'); rm -f $o; mkfifo $o",
];

#[test]
fn a_fifo_that_is_seen_is_refused_at_once() {
    for script in FOUND {
        let world = World::with_words();
        world.sh(script);
        let told = world.collect(&everything());
        assert_eq!(told, Err(Uncollected::Unreadable), "{script}");
    }
}

#[test]
fn a_git_that_waits_has_limits_and_is_ended() {
    thread::scope(|scope| {
        for script in WAITED_FOR {
            scope.spawn(move || {
                let world = World::with_words();
                world.sh(script);
                thread::scope(|watched| {
                    let is_limited = watched.spawn(|| is_limited(&world));
                    let told = world.collect(&everything());
                    assert_eq!(told, Err(Uncollected::TooSlow), "{script}");
                    assert!(is_limited.join().unwrap(), "{script}");
                });
                assert_eq!(running(&world).len(), 0, "{script}");
            });
        }
    });
}

#[test]
fn a_link_to_a_device_is_refused() {
    for name in ["packed-refs", "index", "refs/heads/x"] {
        let world = World::with_words();
        world.sh(&format!("rm -f .git/{name}; ln -s /dev/zero .git/{name}"));
        let told = world.collect(&everything());
        assert_eq!(told, Err(Uncollected::Unreadable), "{name}");
    }
}

/// Whether a git in this world may have half a gigabyte of memory, once there is one that waits.
fn is_limited(world: &World) -> bool {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped, not Linux: whether git's memory is limited");
        return true;
    }
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        for process in running(world) {
            let limits = fs::read_to_string(process.join("limits")).unwrap_or_default();
            let mut data = limits
                .lines()
                .filter(|line| line.starts_with("Max data size"));
            if data.any(|line| line.contains(" 536870912 ")) {
                return true;
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// How long a git that waits is looked for: as long as it may wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// The processes that run in this world: those with a variable that names its folder. Elsewhere
/// than on Linux, nobody can tell.
fn running(world: &World) -> Vec<PathBuf> {
    let folder = world.path("scratch").display().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        eprintln!("skipped, no /proc: whether git has ended");
        return Vec::new();
    };
    let mut found = Vec::new();
    for process in processes {
        let path = process.unwrap().path();
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(&folder) {
            found.push(path);
        }
    }
    found
}
