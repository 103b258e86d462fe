//! The sandbox measured inside one process: the same guest natively and in the component,
//! on the same files, and the parts of a call.
//!
//! `cargo bench -p keyhole-benches --bench micro`
#![allow(
    clippy::unwrap_used,
    reason = "a bench that cannot set itself up has nothing to report"
)]

use cap_std::fs::Dir;
use divan::{Bencher, black_box};
use keyhole_benches::{
    Native,
    files::{Files, KEYS, LARGE_NAME, SMALL_KEY, SMALL_NAME, grant, map_of},
};
use keyhole_core::{Executor, Key, Location, Map, limits::Limits, locate, sandbox::Sandbox};
use keyhole_walk::{System, Walker};
use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::embedded(Limits::default()).unwrap());
static FILES: LazyLock<Files> = LazyLock::new(|| Files::new().unwrap().at_rest());

fn main() {
    LazyLock::force(&FILES);
    divan::main();
}

fn call(guest: &impl Executor<Directory = Dir>, name: &str) -> String {
    let grant = grant(FILES.home(), black_box(name)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    guest.run(SMALL_KEY, Some(grant), deadline).unwrap()
}

/// The fair limit: the guest's own logic and checks, without a sandbox.
#[divan::bench(args = [SMALL_NAME, LARGE_NAME])]
fn native(bencher: Bencher<'_, '_>, name: &str) {
    bencher.bench_local(|| call(&Native, name));
}

/// The same in the component: store, instance, guest, answer.
#[divan::bench(args = [SMALL_NAME, LARGE_NAME])]
fn component(bencher: Bencher<'_, '_>, name: &str) {
    bencher.bench_local(|| call(&*SANDBOX, name));
}

/// A call that gets no grant: a store, an instance and a refusal, and no file.
#[divan::bench]
fn component_unknown_key(bencher: Bencher<'_, '_>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    bencher.bench_local(|| SANDBOX.run(black_box(SMALL_KEY), None, deadline));
}

fn map(keys: usize) -> Map {
    Map::parse(map_of(keys).as_bytes(), &location()).unwrap()
}

fn location() -> Location {
    Location::find(Some(&FILES.map(KEYS[0])), |_| None).unwrap()
}

/// The cost of a changed map, once, at the next call.
#[divan::bench(args = KEYS)]
fn map_parse(bencher: Bencher<'_, '_>, keys: usize) {
    let (text, location) = (map_of(keys), location());
    bencher.bench_local(|| Map::parse(black_box(text.as_bytes()), &location).unwrap());
}

/// The way from a key to its entry.
#[divan::bench(args = KEYS)]
fn map_lookup(bencher: Bencher<'_, '_>, keys: usize) {
    let map = map(keys);
    bencher.bench_local(|| {
        let key = Key::try_from(black_box(SMALL_KEY)).unwrap();
        map.find(&key).unwrap().max_bytes()
    });
}

/// The way from an entry to its grant: walks the path, and judges all that is on it.
#[divan::bench]
fn walk(bencher: Bencher<'_, '_>) {
    let (map, walker) = (map(KEYS[0]), Walker::new(System));
    let entry = map.find(&Key::try_from(SMALL_KEY).unwrap()).unwrap();
    bencher.bench_local(|| locate(&walker, &map, black_box(entry)).unwrap());
}
