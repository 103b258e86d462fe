//! The sandbox measured inside one process: the same guest logic natively and in the
//! component, on the same files, and the parts of a call.
//!
//! `cargo bench -p keyhole-benches --bench micro`
#![allow(
    clippy::unwrap_used,
    reason = "a bench that cannot set itself up has nothing to report"
)]

use cap_std::fs::Dir;
use divan::{Bencher, black_box};
use keyhole::{Grant, Key, Location, Map, limits::Limits, resolve, sandbox::Sandbox};
use keyhole_guest::{Grant as GuestGrant, Grants, load};
use keyhole_native::NativeDirectory;
use std::{
    fs::{self, File},
    path::Path,
    sync::LazyLock,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Builder;

const SIZES: [usize; 4] = [0, 1 << 10, 64 << 10, 1 << 20];
const KEY: &str = "k-2c1f8a96d0e34b57";

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::embedded(Limits::default()).unwrap());

static FILES: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    for size in SIZES {
        fs::write(dir.path().join(name(size)), "a".repeat(size)).unwrap();
    }
    dir
});

fn main() {
    // As in a server, where a call runs on a thread of a runtime.
    let runtime = Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    divan::main();
}

fn name(size: usize) -> String {
    format!("{size}.md")
}

struct OneGrant(usize);

impl Grants for OneGrant {
    fn find(&self, key: &str) -> Option<GuestGrant> {
        (key == KEY).then(|| GuestGrant {
            name: name(self.0),
            max_bytes: 1 << 20,
        })
    }
}

fn call(directory: &Path, size: usize) -> String {
    let grant = Grant {
        directory: Dir::from_std_file(File::open(directory).unwrap()),
        name: name(size),
        max_bytes: 1 << 20,
    };
    SANDBOX
        .call(KEY, Some(grant), Instant::now() + Duration::from_secs(5))
        .unwrap()
}

/// The fair limit: the guest's own logic and checks, without a sandbox.
#[divan::bench(args = SIZES)]
fn native(bencher: Bencher<'_, '_>, size: usize) {
    let files = FILES.path();
    bencher.bench_local(|| {
        let directory = NativeDirectory::open(files).unwrap();
        load(black_box(KEY), &OneGrant(size), Some(&directory)).unwrap()
    });
}

/// The same in the component: store, instance, guest, answer.
#[divan::bench(args = SIZES)]
fn component(bencher: Bencher<'_, '_>, size: usize) {
    let files = FILES.path();
    LazyLock::force(&SANDBOX);
    bencher.bench_local(|| call(files, black_box(size)));
}

/// How many keys a map has.
const KEYS: [usize; 3] = [10, 1_000, 100_000];

/// A map's text; its first key is for the smallest file that is not empty.
fn map(keys: usize) -> String {
    let mut text = format!("[keys]\n\"{KEY}\" = \"{}\"\n", name(SIZES[1]));
    for key in 1..keys {
        text += &format!("\"k-{key:016x}\" = \"notes/{key}.md\"\n");
    }
    text
}

fn location() -> Location {
    Location::find(Some(&FILES.path().join("map.toml")), |_| None).unwrap()
}

/// The cost of a changed map, once, at the next call.
#[divan::bench(args = KEYS)]
fn map_parse(bencher: Bencher<'_, '_>, keys: usize) {
    let (text, location) = (map(keys), location());
    bencher.bench_local(|| Map::parse(black_box(text.as_bytes()), &location).unwrap());
}

/// The way from a key to its entry.
#[divan::bench(args = KEYS)]
fn map_lookup(bencher: Bencher<'_, '_>, keys: usize) {
    let map = Map::parse(map(keys).as_bytes(), &location()).unwrap();
    bencher.bench_local(|| {
        let key = Key::try_from(black_box(KEY)).unwrap();
        map.find(&key).unwrap().max_bytes()
    });
}

/// The way from an entry to its grant: resolves the path and opens its directory.
#[divan::bench]
fn root_opening(bencher: Bencher<'_, '_>) {
    let map = Map::parse(map(1).as_bytes(), &location()).unwrap();
    let entry = map.find(&Key::try_from(KEY).unwrap()).unwrap();
    bencher.bench_local(|| resolve(&map, black_box(&entry)).unwrap());
}

/// A call that gets no grant: a store, an instance and a refusal, and no file.
#[divan::bench]
fn component_unknown_key(bencher: Bencher<'_, '_>) {
    LazyLock::force(&SANDBOX);
    bencher.bench_local(|| {
        SANDBOX.call(
            black_box(KEY),
            None,
            Instant::now() + Duration::from_secs(5),
        )
    });
}
