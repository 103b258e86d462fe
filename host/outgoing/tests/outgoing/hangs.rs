//! A FIFO or a device in a repository never makes a look wait without end.

use crate::world::{World, everything};
use keyhole_outgoing::Uncollected;
use std::{fs, thread};

/// What is a FIFO where we come upon it, or where git sees that it is one.
const FOUND: [&str; 9] = [
    "rm .git/HEAD; mkfifo .git/HEAD",
    "mkfifo .git/refs/heads/x",
    "rm -f .git/packed-refs; mkfifo .git/packed-refs",
    "rm .git/index; mkfifo .git/index",
    "mkfifo .git/shallow",
    "rm -f .git/info/exclude; mkfifo .git/info/exclude",
    "mkfifo .git/commondir",
    "mv .git ../g; mkfifo .git",
    "rm b.txt; mkfifo b.txt",
];

/// What is a FIFO where only git comes upon it.
const WAITED_FOR: [&str; 5] = [
    "mkfifo .git/objects/info/alternates",
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
fn a_git_that_waits_is_ended() {
    thread::scope(|scope| {
        for script in WAITED_FOR {
            scope.spawn(move || {
                let world = World::with_words();
                world.sh(script);
                let told = world.collect(&everything());
                assert_eq!(told, Err(Uncollected::TooSlow), "{script}");
                assert_eq!(running(&world), 0, "{script}");
            });
        }
    });
}

#[test]
fn a_link_to_a_device_is_refused() {
    for name in ["HEAD", "packed-refs", "index", "refs/heads/x"] {
        let world = World::with_words();
        world.sh(&format!("rm -f .git/{name}; ln -s /dev/zero .git/{name}"));
        let told = world.collect(&everything());
        assert_eq!(told, Err(Uncollected::Unreadable), "{name}");
    }
}

/// How many processes run in this world: those with a variable that names its folder. Elsewhere
/// than on Linux, nobody can tell.
fn running(world: &World) -> usize {
    let folder = world.path("scratch").display().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        eprintln!("skipped, no /proc: whether git has ended");
        return 0;
    };
    let mut count = 0;
    for process in processes {
        let environment = fs::read(process.unwrap().path().join("environ"));
        let text = environment.unwrap_or_default();
        count += usize::from(String::from_utf8_lossy(&text).contains(&folder));
    }
    count
}
