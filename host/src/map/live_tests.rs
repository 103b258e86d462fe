//! A changed map counts from the next call on, and no call sees half of it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{LiveMap, Location, MapError};
use crate::{
    Code,
    map::Key,
    walk::{Fault, FileSystem, QUIET, System, Why, passed_on_tests::pass_on},
};
use std::{
    fs::{self, File, FileTimes, Permissions},
    io::Write,
    os::{
        fd::OwnedFd,
        unix::fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};
use tempfile::TempDir;

/// A directory with a map in it.
struct Home {
    directory: TempDir,
    live: LiveMap,
}

impl Home {
    /// No map yet.
    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let live = live(&directory.path().join("map.toml"));
        Self { directory, live }
    }

    fn with(text: &str) -> Self {
        let home = Self::empty();
        home.write(text);
        home
    }

    fn map(&self) -> PathBuf {
        self.directory.path().join("map.toml")
    }

    fn write(&self, text: &str) {
        fs::write(self.map(), text).unwrap();
        set_mode(&self.map(), 0o600);
    }

    /// Replaces the map by a finished file.
    fn replace(&self, text: &str) {
        let new = self.directory.path().join("new.toml");
        fs::write(&new, text).unwrap();
        set_mode(&new, 0o600);
        fs::rename(new, self.map()).unwrap();
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

fn live(map: &Path) -> LiveMap {
    LiveMap::new(Location::find(Some(map), |_| None).unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const A: &str = "[keys]\na = 'a.md'\n";
const B: &str = "[keys]\nb = 'b.md'\n";

#[test]
fn a_map_may_appear_change_break_heal_and_go() {
    let home = Home::empty();
    assert_eq!(home.error().code(), Code::MapMissing);
    home.write(A);
    assert!(home.has("a"));
    home.write(B);
    assert!(home.has("b") && !home.has("a"));
    home.write("[keys");
    assert_eq!(home.error().code(), Code::MapInvalid);
    home.replace(A);
    assert!(home.has("a"));
    fs::remove_file(home.map()).unwrap();
    assert_eq!(home.error().code(), Code::MapMissing);
    home.replace(B);
    assert!(home.has("b"));
}

#[test]
fn an_unchanged_map_is_parsed_once() {
    let home = Home::with(A);
    for _ in 0..50 {
        assert!(home.has("a"));
    }
    assert_eq!(home.parsed(), 1);
    home.write(B);
    assert!(home.has("b"));
    assert_eq!(home.parsed(), 2);
}

#[test]
fn an_unchanged_broken_map_is_parsed_once() {
    let home = Home::with("roots = []");
    for _ in 0..50 {
        assert!(matches!(home.error(), MapError::Parse { .. }));
    }
    assert_eq!(home.parsed(), 1);
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
fn a_change_of_equal_size_and_time_is_seen_at_once() {
    let home = Home::with(A);
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for text in [A, B, A, B] {
        // In place, and with its modification time set back.
        let mut file = File::options().write(true).open(home.map()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
        assert!(home.has(if text == A { "a" } else { "b" }));
    }
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

#[test]
fn replacing_the_map_shows_the_old_one_or_the_new_one() {
    let home = Home::with(A);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..30 {
                home.replace(if n % 2 == 0 { B } else { A });
                thread::sleep(Duration::from_millis(30));
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            let map = home.live.current().unwrap();
            assert_eq!(map.entries().len(), 1);
        }
    });
}

/// The real file system, but with a clock that does not help, and a map that ends in
/// another byte at every reading.
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
    let location = Location::find(Some(&home.map()), |_| None).unwrap();
    let live = LiveMap::over(Restless::default(), location);
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
    let location = Location::find(Some(&home.map()), |_| None).unwrap();
    let restless = Restless {
        on_time: true,
        ..Restless::default()
    };
    let live = LiveMap::over(restless, location);
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
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let home = Home::empty();
    fs::create_dir(home.map()).unwrap();
    assert!(matches!(home.error(), MapError::NotAFile { .. }));
    fs::remove_dir(home.map()).unwrap();

    let made = Command::new("mkfifo").arg(home.map()).status().unwrap();
    assert!(made.success());
    assert!(matches!(home.error(), MapError::NotAFile { .. }));
    fs::remove_file(home.map()).unwrap();

    let _socket = std::os::unix::net::UnixListener::bind(home.map()).unwrap();
    assert!(matches!(home.error(), MapError::NotAFile { .. }));
}

#[test]
fn a_map_that_is_too_large_is_refused() {
    let home = Home::with("");
    let file = File::options().write(true).open(home.map()).unwrap();
    file.set_len(crate::limits::MAX_MAP_BYTES + 1).unwrap();
    assert!(matches!(home.error(), MapError::TooLarge { .. }));
    assert_eq!(home.parsed(), 0);
}

/// Whether this is what is wrong, with the directory or file that the error names.
fn is_writable_by_others(error: &MapError, at: &Path) -> bool {
    let MapError::Untrusted(distrust) = error else {
        return false;
    };
    distrust.why == Why::WritableByOthers && distrust.path == at.canonicalize().unwrap()
}

#[test]
fn a_map_that_others_can_write_to_is_refused_until_they_cannot() {
    let home = Home::with(A);
    assert!(home.has("a"));
    set_mode(&home.map(), 0o602);
    assert!(is_writable_by_others(&home.error(), &home.map()));
    set_mode(&home.map(), 0o644);
    assert!(home.has("a"));
}

#[test]
fn a_map_that_others_can_replace_is_refused_until_they_cannot() {
    let home = Home::with(A);
    assert!(home.has("a"));
    // The map itself does not change by this.
    set_mode(home.directory.path(), 0o707);
    assert!(is_writable_by_others(&home.error(), home.directory.path()));
    set_mode(home.directory.path(), 0o1777);
    assert!(home.has("a"));
    set_mode(home.directory.path(), 0o700);
    assert!(home.has("a"));
}

#[test]
fn a_map_may_be_a_link_and_the_directory_of_the_real_file_counts() {
    let home = Home::empty();
    let store = tempfile::tempdir().unwrap();
    let real = store.path().join("real.toml");
    symlink(&real, home.map()).unwrap();
    assert_eq!(home.error().code(), Code::MapMissing);
    fs::write(&real, A).unwrap();
    set_mode(&real, 0o600);
    assert!(home.has("a"));

    set_mode(store.path(), 0o777);
    assert!(is_writable_by_others(&home.error(), store.path()));
    set_mode(store.path(), 0o700);

    // If the link leads elsewhere, it is another map.
    let other = store.path().join("other.toml");
    fs::write(&other, B).unwrap();
    set_mode(&other, 0o600);
    let link = home.directory.path().join("link");
    symlink(&other, &link).unwrap();
    fs::rename(link, home.map()).unwrap();
    assert!(home.has("b"));
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
