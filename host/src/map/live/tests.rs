//! A changed map counts from the next call on, and no call sees half of it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{LiveMap, MapError};
use crate::{
    code::Code,
    map::{Key, MapSource, Maps as _, tests::Tree},
    walk::{Fault, FileSystem, QUIET, System, tests::passed_on::pass_on},
};
use std::{
    fs::{self, File},
    io::Write,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::PathBuf,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

/// A map, and what is known of it.
struct Home {
    tree: Tree,
    live: Arc<LiveMap>,
    source: MapSource,
}

impl Home {
    fn with(text: &str) -> Self {
        let tree = Tree::with(text);
        let live = Arc::new(tree.live());
        let source = MapSource::from(Arc::clone(&live));
        Self { tree, live, source }
    }

    fn map(&self) -> PathBuf {
        self.tree.map()
    }

    /// Writes the map in place.
    fn write(&self, text: &str) {
        self.tree.write("map.toml", text);
    }

    /// Replaces the map by a finished file.
    fn replace(&self, text: &str) {
        self.tree.write("new.toml", text);
        fs::rename(self.tree.path("new.toml"), self.map()).unwrap();
    }

    fn has(&self, key: &str) -> bool {
        self.live
            .current()
            .unwrap()
            .find(&Key::try_from(key).unwrap())
            .is_some()
    }

    fn error(&self) -> MapError {
        self.live.current().unwrap_err()
    }

    fn parsed(&self) -> usize {
        self.live.parsed.load(Ordering::Relaxed)
    }
}

/// How many bytes a map has beside, so that it is compared at each call, or is too large.
const RESTS: [usize; 2] = [0, super::COMPARED as usize];

const A: &str = "[keys]\na = 'a.md'\n";
const B: &str = "[keys]\nb = 'b.md'\n";

#[test]
fn an_unchanged_map_is_parsed_once_and_so_is_a_broken_one() {
    let home = Home::with(A);
    for _ in 0..50 {
        assert!(home.has("a"));
    }
    assert_eq!(home.parsed(), 1);
    home.write("roots = []");
    for _ in 0..50 {
        assert!(matches!(home.error(), MapError::Parse { .. }));
    }
    assert_eq!(home.parsed(), 2);
}

#[test]
fn many_calls_at_once_share_one_parsing() {
    let home = Home::with(A);
    let together = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                together.wait();
                assert!(home.has("a"));
            });
        }
    });
    assert_eq!(home.parsed(), 1);
}

#[test]
fn no_call_sees_half_of_a_change_in_place() {
    let home = Home::with(A);
    assert!(home.has("a"));
    let halfway = Barrier::new(2);
    let (seen, pause) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut file = File::create(home.map()).unwrap();
            file.write_all(b"[keys]\n").unwrap();
            halfway.wait();
            // The part up to the end of any line would be a valid map.
            let mut longest = Duration::ZERO;
            for key in ["b", "c", "d", "e"] {
                let before = Instant::now();
                thread::sleep(Duration::from_millis(2));
                file.write_all(format!("{key} = 'x.md'\n").as_bytes())
                    .unwrap();
                longest = longest.max(before.elapsed());
            }
            longest
        });
        halfway.wait();
        let seen = home.live.current().unwrap().entries().len();
        (seen, writer.join().unwrap())
    });
    // A busy machine may stop the writer for so long that the map is at rest.
    assert!(
        seen == 4 || pause >= Duration::from_millis(10),
        "{seen} keys, {pause:?}"
    );
    assert_eq!(home.live.current().unwrap().entries().len(), 4);
}

/// The real file system, but for a clock that is no help, and a map of which every
/// reading ends in another byte.
#[derive(Default)]
struct Restless {
    readings: AtomicU8,
    pauses: AtomicUsize,
    /// Whether its clock is right.
    on_time: bool,
}

impl FileSystem for Restless {
    type Handle = OwnedFd;
    pass_on!(
        root,
        hold,
        open,
        stat,
        read_link,
        mount,
        has_hidden_writers,
        user
    );

    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        let got = System.read(file, bytes, offset)?;
        if let Some(last) = got.checked_sub(1) {
            bytes[last] = self.readings.fetch_add(1, Ordering::SeqCst) | 0x40;
        }
        Ok(got)
    }

    fn settle(&self, _: &OwnedFd) {}

    fn now(&self) -> SystemTime {
        match self.on_time {
            true => SystemTime::now(),
            false => SystemTime::UNIX_EPOCH,
        }
    }

    fn pause(&self, _: Duration) {
        self.pauses.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_map_that_never_rests_is_refused_after_a_second() {
    let home = Home::with(&format!("{A}\n#."));
    let live = LiveMap::over(Restless::default(), home.tree.location());
    let error = live.current().unwrap_err();
    assert!(matches!(error, MapError::Unsettled { .. }), "{error}");
    let pauses = live.walker.files().pauses.load(Ordering::SeqCst);
    assert_eq!(
        QUIET * u32::try_from(pauses).unwrap(),
        Duration::from_millis(1020)
    );
    assert!(home.has("a"));
}

#[test]
fn a_small_map_is_compared_at_each_call_though_its_times_tell_of_no_change() {
    let home = Home::with(&format!("{A}\n#."));
    thread::sleep(2 * QUIET);
    let restless = Restless {
        on_time: true,
        ..Restless::default()
    };
    let live = LiveMap::over(restless, home.tree.location());
    for parsed in 1..4 {
        assert!(live.current().is_ok());
        assert_eq!(live.parsed.load(Ordering::Relaxed), parsed);
    }
}

#[test]
fn a_large_map_is_read_again_if_its_times_changed_and_only_then() {
    let rest = "#".repeat(usize::try_from(super::COMPARED).unwrap());
    let home = Home::with(&format!("{A}\n{rest}"));
    for _ in 0..3 {
        assert!(home.has("a"));
        assert_eq!(home.parsed(), 1);
    }
    home.replace(&format!("{B}\n{rest}"));
    assert!(home.has("b") && !home.has("a"));
    assert_eq!(home.parsed(), 2);
}

#[test]
fn a_map_is_read_ahead_once_and_each_call_still_asks_whether_it_changed() {
    for rest in RESTS {
        let rest = "#".repeat(rest);
        let home = Home::with(&format!("{A}\n{rest}"));
        home.source.read_ahead();
        assert_eq!(home.parsed(), 1);
        assert!(home.has("a"));
        home.source.read_ahead();
        assert_eq!(home.parsed(), 1);
        // What was read ahead is worth no more than what a call has read.
        home.replace(&format!("{B}\n{rest}"));
        assert!(home.has("b") && !home.has("a"));
        assert_eq!(home.parsed(), 2);
        fs::set_permissions(home.map(), fs::Permissions::from_mode(0o602)).unwrap();
        home.source.read_ahead();
        assert!(matches!(home.error(), MapError::Untrusted(_)));
        assert_eq!(home.parsed(), 2);
    }
}

#[test]
fn what_is_wrong_with_a_map_that_is_read_ahead_is_left_to_the_call() {
    for rest in RESTS {
        let home = Home::with(&format!("roots = []\n{}", "#".repeat(rest)));
        let read_ahead = || home.source.read_ahead();
        read_ahead();
        assert!(matches!(home.error(), MapError::Parse { .. }));
        assert_eq!(home.parsed(), 1);
        fs::remove_file(home.map()).unwrap();
        read_ahead();
        assert_eq!(home.error().code(), Code::MapMissing);
    }
}

#[test]
fn a_map_that_is_too_large_is_refused() {
    let home = Home::with("");
    let file = File::options().write(true).open(home.map()).unwrap();
    file.set_len(crate::limits::MAX_MAP_BYTES + 1).unwrap();
    assert!(matches!(home.error(), MapError::TooLarge { .. }));
    assert_eq!(home.parsed(), 0);
}

#[test]
fn errors_name_the_path_and_nothing_of_the_map() {
    let home = Home::with("[keys]\nSECRET = 'a.md'\nSECRET = 'b.md'\n");
    let error = home.error();
    let shown = error.to_string();
    assert!(
        shown.contains("map.toml:3: not TOML: duplicate key; under [keys]"),
        "{shown}"
    );
    assert!(!format!("{error:?} {:?}", home.live).contains("SECRET"));
}

#[test]
fn what_a_server_says_at_its_start_begins_with_the_code_and_does_not_name_the_map() {
    let path = PathBuf::from("/hunter2/map.toml");
    for error in [
        MapError::Missing { path: path.clone() },
        MapError::OutOfResources { path: path.clone() },
        MapError::TooLarge { path },
    ] {
        let said = error.at_start();
        assert!(said.starts_with(error.code().as_str()), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
