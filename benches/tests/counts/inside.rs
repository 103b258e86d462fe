//! Calls and maps inside this process: what they allocate, touch and read.

use crate::{
    LARGE, SMALL,
    limits::{
        KEYS, LARGE_ALLOCATED, LARGE_HELD, LOADING, MAP_ALLOCATED, MAP_ALLOCATIONS, MAP_HELD,
    },
};
#[cfg(target_os = "linux")]
use crate::{limits::LARGE_FAULTS, procfs, skipped};
use allocation_counter::{AllocationInfo, measure};
use cap_std::fs::Dir;
use keyhole::{
    Grant, Key, Location, Map,
    limits::Limits,
    sandbox::{Executor as _, Sandbox},
};
#[cfg(target_os = "linux")]
use keyhole_guest::PART_BYTES;
use std::{
    fs::{self, File},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const KEY: &str = "k-2c1f8a96d0e34b57";

struct Ground {
    files: TempDir,
    sandbox: Sandbox,
}

impl Ground {
    fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        for size in [SMALL, LARGE] {
            let text = "a".repeat(size.try_into().unwrap());
            fs::write(files.path().join(format!("{size}.md")), text).unwrap();
        }
        Self {
            files,
            sandbox: Sandbox::embedded(Limits::default()).unwrap(),
        }
    }

    fn call(&self, size: u64) {
        let grant = Grant {
            directory: Dir::from_std_file(File::open(self.files.path()).unwrap()),
            name: format!("{size}.md"),
            max_bytes: LARGE,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let text = self.sandbox.call(KEY, Some(grant), deadline).unwrap();
        assert_eq!(text.len() as u64, size);
    }

    /// What a call costs after another call, which has warmed all that can be warm.
    fn count(&self, size: u64) -> AllocationInfo {
        self.call(size);
        self.sandbox.tidy();
        measure(|| self.call(size))
    }
}

/// The guest's own memory is the pool's, so it does not count.
#[test]
fn the_host_holds_a_document_once_and_a_part_of_it_and_no_more() {
    let counted = Ground::new().count(LARGE);
    assert!(counted.bytes_total <= LARGE_ALLOCATED, "{counted:?}");
    assert!(counted.bytes_max <= LARGE_HELD, "{counted:?}");
}

/// The guest holds a part at a time. If it held more, it would touch memory that its slot
/// had returned to the system, and that comes back page by page.
#[cfg(target_os = "linux")]
#[test]
fn a_large_document_takes_new_memory_for_the_answer_alone() {
    const PAGE: u64 = 4 << 10;
    let ground = Ground::new();
    let mut faults = Vec::new();
    for _ in 0..4 {
        ground.call(LARGE);
        ground.sandbox.tidy();
        let began = page_faults();
        ground.call(LARGE);
        faults.push(page_faults() - began);
    }
    let fewest = *faults.iter().min().unwrap();
    assert!(fewest <= LARGE / PAGE + LARGE_FAULTS, "{faults:?}");
}

/// The store and its instances were made before.
#[test]
fn a_call_that_finds_an_instance_makes_none() {
    let ground = Ground::new();
    let ready = ground.count(SMALL).count_total;
    // Nobody has tidied up since.
    let own = measure(|| ground.call(SMALL)).count_total;
    assert!(2 * ready < own, "{ready} {own}");
}

/// For the embedded guest, only what it imports is linked. All that a component could import
/// would take 100 allocations more.
#[test]
fn loading_the_sandbox_links_what_the_guest_imports_and_little_else() {
    let counted = measure(|| drop(Sandbox::embedded(Limits::default()).unwrap()));
    println!("{}", counted.count_total);
    assert!(counted.count_total <= LOADING, "{counted:?}");
}

/// Its text is copied here once, since the map keeps it. Beside it, a map has a row for each
/// key, and an index of them. It was two strings for each key before, and the library's
/// document.
#[test]
fn a_map_of_100_000_keys_takes_few_allocations_and_three_times_its_text() {
    let mut text = String::from("[keys]\n");
    for key in 0..KEYS {
        text += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
    }
    text += "\"k-\\u0061\" = 'a.md'\n[bindings.one]\nkey = 'k-a'\n";
    let location = Location::find(Some("/maps/m.toml".as_ref()), |_| None).unwrap();
    let mut map = None;
    let counted = measure(|| map = Some(Map::parse(text.as_bytes(), &location).unwrap()));
    let key = Key::try_from("k-a").unwrap();
    assert_eq!(map.unwrap().find(&key).unwrap().path(), "a.md");
    assert!(counted.count_total <= MAP_ALLOCATIONS, "{counted:?}");
    let size = text.len() as u64;
    assert!(counted.bytes_max <= MAP_HELD * size, "{size} {counted:?}");
    assert!(
        counted.bytes_total <= MAP_ALLOCATED * size,
        "{size} {counted:?}"
    );
}

/// One read for each part, and one that finds the end.
#[cfg(target_os = "linux")]
#[test]
fn a_document_is_read_in_one_read_for_each_part_and_one_for_its_end() {
    let ground = Ground::new();
    let Ok(began) = reads() else {
        skipped(
            "a_document_is_read_in_one_read_for_each_part_and_one_for_its_end",
            "the system does not count a thread's reads",
        );
        return;
    };
    let counting = reads().unwrap() - began;
    for size in [SMALL, LARGE] {
        let began = reads().unwrap();
        ground.call(size);
        let parts = size.div_ceil(PART_BYTES);
        assert_eq!(reads().unwrap() - began - counting, parts + 1);
    }
}

/// Where Linux counts for this thread.
#[cfg(target_os = "linux")]
const THREAD: &str = "/proc/thread-self";

/// How often it has touched a page that was not there.
#[cfg(target_os = "linux")]
fn page_faults() -> u64 {
    procfs::page_faults(THREAD.as_ref())
}

/// How often it has read.
#[cfg(target_os = "linux")]
fn reads() -> std::io::Result<u64> {
    procfs::reads(THREAD.as_ref())
}
