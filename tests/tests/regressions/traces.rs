//! A hostile guest once read a neighbour of its file, and saw a changed access time at the
//! next call: so it carried a bit from call to call. Now no guest reads a neighbour or learns
//! an access time (`hostile::guest`), and a call changes none.

use keyhole_tests::{World, skipped};
use std::{
    fs::{self, File, FileTimes},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Makes the access time so old that the kernel notes the next read, even on file
/// systems where it does not note each one (`relatime`).
fn not_read_for_long(path: &Path) -> SystemTime {
    let times = FileTimes::new()
        .set_accessed(UNIX_EPOCH + Duration::from_secs(86_400))
        .set_modified(SystemTime::now());
    File::open(path).unwrap().set_times(times).unwrap();
    accessed(path)
}

fn accessed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().accessed().unwrap()
}

#[test]
fn a_call_leaves_the_access_times_of_its_file_and_folder_as_they_were() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux reads without a trace");
    }
    let world = World::new().with_k1("whole\n");
    let path = world.path("1.md");
    let before = not_read_for_long(&path);
    fs::read(&path).unwrap();
    if accessed(&path) == before {
        return skipped("this file system notes no access times");
    }
    let before = [&path, world.home()].map(not_read_for_long);
    world.load("k-1").is("whole\n");
    assert_eq!([&path, world.home()].map(accessed), before);
}
