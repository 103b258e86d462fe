//! A folder that becomes a link while git looks.

use crate::world::{World, everything, places};
use keyhole_outgoing::{Outgoing, Uncollected};
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
    let told = look_while_swapped(&world, "r", ["r/a100", "r/z", "r/link"]);
    // Git says that it could not read a file, or had read the true one before.
    if let Ok(outgoing) = told {
        assert_eq!(places(&outgoing, "WEXELMOOR"), []);
    }
}

#[test]
fn no_new_file_is_read_through_a_link_that_takes_the_place_of_a_folder_above_the_checkout() {
    let world = World::new();
    world.sh(BESIDE);
    // The checkout is called as the private folder, so that a link above leads to the list.
    world.sh(&format!(
        "mkdir -p sub/private; ln -s .. link; cd sub/private; git init -q .
        for i in $(seq 100 {}); do echo x >a$i; done; seq 100000 >a100; echo x >list",
        FILES + 99
    ));
    let told = look_while_swapped(
        &world,
        "r/sub/private",
        ["r/sub/private/a100", "r/sub", "r/link"],
    );
    if let Ok(outgoing) = told {
        assert_eq!(places(&outgoing, "WEXELMOOR"), []);
    }
}

/// What is told of `checkout` if the folder and the link are exchanged as soon as the file `first`
/// is opened. All are names in the world's folder.
fn look_while_swapped(
    world: &World,
    checkout: &str,
    [first, folder, link]: [&str; 3],
) -> Result<Outgoing, Uncollected> {
    let watch = inotify::init(CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, world.path(first), WatchFlags::OPEN).unwrap();
    let [folder_path, link_path] = [folder, link].map(|name| world.path(name));
    let swapping = thread::spawn(move || {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        Reader::new(watch, &mut buffer).next().unwrap();
        renameat_with(CWD, &folder_path, CWD, &link_path, RenameFlags::EXCHANGE).unwrap();
    });
    let told = world.collect_in(checkout, &everything());
    swapping.join().unwrap();
    told
}
