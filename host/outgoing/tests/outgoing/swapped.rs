//! A folder that becomes a link while git looks.

use crate::world::{World, everything, places};
use keyhole_wall::WallStatus;
use rustix::fs::{
    CWD, RenameFlags,
    inotify::{self, CreateFlags, Reader, WatchFlags},
    renameat_with,
};
use std::{mem::MaybeUninit, thread};

/// How many files git reads before the one that is swapped.
const FILES: usize = 400;

/// What is beside the repository, in a folder that no shell of the session may read.
const BESIDE: &str = "mkdir -p ../private; echo WEXELMOOR >../private/list";

#[test]
fn git_reads_nothing_through_a_link_that_takes_a_folders_place() {
    if WallStatus::here().landlock.is_none() {
        eprintln!("skipped, no Landlock: a link that takes a folder's place");
        return;
    }
    let world = World::new();
    world.sh(BESIDE);
    world.sh(&format!(
        "mkdir z; echo x >z/list; for i in $(seq 100 {}); do echo x >a$i; done
        git add -A; git commit -qm x; for f in a* z/list; do seq 200 >$f; done
        ln -s ../private link",
        FILES + 99
    ));
    // As soon as git opens the first file, the last one's folder becomes the link.
    let watch = inotify::init(CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, world.path("r/a100"), WatchFlags::OPEN).unwrap();
    let [folder, link] = ["r/z", "r/link"].map(|name| world.path(name));
    let swapping = thread::spawn(move || {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        Reader::new(watch, &mut buffer).next().unwrap();
        renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    });
    let told = world.collect(&everything());
    swapping.join().unwrap();
    // Git says that it could not read a file, or had read the true one before.
    if let Ok(outgoing) = told {
        assert_eq!(places(&outgoing, "WEXELMOOR"), []);
    }
}
