//! How calls delay each other, with files that hang and with guessed keys. The
//! guest is a fake that hangs when a test wants it. The threads and the time are
//! real. No test measures time.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Loader, leaves_much};
use crate::{
    call::Outcome,
    caller::Caller,
    code::Code,
    grant::Grant,
    limits::Limits,
    map::{BindingName, Entry, Key, Map, MapSource, Maps, tests::Tree},
    sandbox::Executor,
    threads::Threads,
    ticket::Tickets,
};
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, mpsc::channel},
    thread,
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

/// A key that nobody can guess.
fn key(of: &str) -> String {
    format!("k-2c1f8a96d0e34b57-{of}")
}

/// Calls soon count as slow and soon as hung, and the deadline is far off. So a
/// call's answer does not depend on how busy the machine is.
fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(600),
        slow_after: Duration::from_millis(10),
        hung_after: Duration::from_millis(200),
        ..Limits::default()
    }
}

/// Files whose names begin with `hung` hang until they are released.
#[derive(Default)]
struct Files {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    released: bool,
    /// The number of calls that are in the guest, by file.
    inside: HashMap<String, usize>,
    /// The highest number that ever were in the guest, by file.
    most: HashMap<String, usize>,
    /// The number of calls without a grant.
    unknown: usize,
}

impl Files {
    fn release(&self) {
        self.state.lock().unwrap().released = true;
        self.changed.notify_all();
    }

    fn inside(&self, file: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.inside.get(file).copied().unwrap_or_default()
    }
}

struct Fake(Arc<Files>);

impl Executor for Fake {
    fn call(&self, _: &str, grant: Option<Grant>, _: Instant) -> Result<String, Code> {
        let mut state = self.0.state.lock().unwrap();
        let Some(Grant { name, .. }) = grant else {
            state.unknown += 1;
            return Err(Code::UnknownKey);
        };
        let inside = state.inside.entry(name.clone()).or_default();
        *inside += 1;
        let now = *inside;
        let most = state.most.entry(name.clone()).or_default();
        *most = now.max(*most);
        if name.starts_with("hung") {
            let hung = |state: &mut State| !state.released;
            state = self.0.changed.wait_while(state, hung).unwrap();
        }
        *state.inside.get_mut(&name).unwrap() -= 1;
        Ok(name)
    }

    fn interrupt(&self) {}
}

struct World {
    _tree: Tree,
    loader: Arc<Loader<Fake>>,
    files: Arc<Files>,
    tickets: Arc<Tickets>,
}

impl World {
    /// A world whose map has these lines in `[keys]`, and two keys of `honest.md`.
    fn new(limits: Limits, lines: &str) -> Self {
        let honest = key("honest");
        let tree = Tree::with(format!(
            "[keys]\nk = 'honest.md'\n{honest} = 'honest.md'\n{lines}"
        ));
        for file in ["honest.md", "hung-0.md", "hung-1.md", "hung-2.md"] {
            tree.write(file, file);
        }
        let source = MapSource::from(Arc::new(tree.live()));
        let files = Arc::new(Files::default());
        let loader = Arc::new(Loader::new(source, Fake(Arc::clone(&files)), limits));
        Self {
            loader,
            files,
            tickets: Arc::new(Tickets::under(tree.directory())),
            _tree: tree,
        }
    }

    async fn load(&self, key: &str) -> Result<String, Code> {
        load(&self.loader, key, Caller::Nobody).await
    }

    /// For so long that others count as slow, and then as hung.
    async fn serves_the_honest_for_a_while(&self) {
        for _ in 0..300 {
            assert_eq!(self.load(&key("honest")).await, Ok("honest.md".into()));
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until `what` holds. It polls, because other threads change the state
    /// and notify nobody.
    async fn until(&self, what: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !what(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "never");
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until no permit and no gate is held any more.
    async fn is_at_rest(&self) {
        let limits = limits();
        self.until(|world| {
            let loader = &world.loader;
            loader.call_permits.available_permits() == limits.running
                && loader.slow.available_permits() == limits.abandoned
                && loader.queue.available_permits() == limits.running + limits.waiting
                && loader.keys.len() == 0
                && loader.work.files.len() == 0
        })
        .await;
    }
}

impl Drop for World {
    /// Releases the calls that hang, so that a failing test ends too.
    fn drop(&mut self) {
        self.files.release();
    }
}

async fn load(loader: &Loader<Fake>, key: &str, caller: Caller) -> Result<String, Code> {
    loader.load(key, &caller).await.map(|content| content.text)
}

/// Starts calls with these keys, all at once.
fn burst(world: &World, keys: impl IntoIterator<Item = String>) -> JoinSet<Result<String, Code>> {
    let mut calls = JoinSet::new();
    for key in keys {
        let loader = Arc::clone(&world.loader);
        calls.spawn(async move { load(&loader, &key, Caller::Nobody).await });
    }
    calls
}

const HUNG: [&str; 3] = ["hung-0.md", "hung-1.md", "hung-2.md"];

/// A key for each file that hangs.
fn a_key_each() -> String {
    HUNG.iter()
        .map(|file| format!("{} = '{file}'\n", key_of(file)))
        .collect()
}

fn key_of(file: &str) -> String {
    key(file).replace('.', "-")
}

#[tokio::test]
async fn three_files_that_hang_keep_no_other_key_waiting_and_are_served_again_themselves() {
    let world = World::new(limits(), &a_key_each());
    let calls = burst(&world, (0..40).map(|call| key_of(HUNG[call % 3])));
    world.serves_the_honest_for_a_while().await;
    for file in HUNG {
        world.until(|world| world.files.inside(file) == 4).await;
        assert_eq!(world.load(&key_of(file)).await, Err(Code::Busy));
    }
    world.files.release();
    for answer in calls.join_all().await {
        assert!(matches!(answer, Ok(_) | Err(Code::Busy)));
    }
    for file in HUNG {
        assert_eq!(world.load(&key_of(file)).await, Ok(file.into()));
    }
    world.is_at_rest().await;
}

#[tokio::test]
async fn a_file_that_hangs_is_the_same_file_under_every_key() {
    let keys: Vec<String> = (0..20).map(|number| key(&number.to_string())).collect();
    let lines = keys.iter().map(|key| format!("{key} = 'hung-0.md'\n"));
    let world = World::new(limits(), &lines.collect::<String>());
    let calls = burst(
        &world,
        keys.iter().flat_map(|key| [key.clone(), key.clone()]),
    );
    world.serves_the_honest_for_a_while().await;
    world.until(|world| world.files.inside(HUNG[0]) == 4).await;
    world.files.release();
    for answer in calls.join_all().await {
        assert!(matches!(answer, Ok(_) | Err(Code::Busy)));
    }
    assert_eq!(world.files.state.lock().unwrap().most[HUNG[0]], 4);
    assert_eq!(world.load(&keys[19]).await, Ok("hung-0.md".into()));
    world.is_at_rest().await;
}

#[tokio::test]
async fn a_flood_for_a_file_that_hangs_leaves_most_of_the_queue() {
    let limits = Limits {
        hung_after: Duration::from_secs(600),
        ..limits()
    };
    let world = World::new(limits, &a_key_each());
    let calls = burst(&world, (0..1000).map(|_| key_of(HUNG[0])));
    world.until(|world| world.files.inside(HUNG[0]) == 4).await;
    assert_eq!(world.load(&key("honest")).await, Ok("honest.md".into()));
    world.files.release();
    let mut served = 0;
    for answer in calls.join_all().await {
        match answer {
            Ok(_) => served += 1,
            Err(code) => assert_eq!(code, Code::Busy),
        }
    }
    assert_eq!(served, limits.for_one_file + limits.waiting_for_one_file);
    world.is_at_rest().await;
}

#[tokio::test]
async fn calls_that_are_given_up_hold_what_they_have_until_they_end_and_no_longer() {
    let world = World::new(limits(), &a_key_each());
    for _ in 0..5 {
        let mut calls = burst(&world, (0..40).map(|call| key_of(HUNG[call % 3])));
        world.until(|world| world.files.inside(HUNG[2]) == 4).await;
        calls.shutdown().await;
    }
    for file in HUNG {
        assert_eq!(world.files.inside(file), 4);
    }
    assert_eq!(world.load(&key("honest")).await, Ok("honest.md".into()));
    world.files.release();
    world.is_at_rest().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_answered_and_keeps_its_thread_counted() {
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..limits()
    };
    let world = World::new(limits, &a_key_each());
    let calls = burst(&world, HUNG.iter().flat_map(|file| vec![key_of(file); 4]));
    for answer in calls.join_all().await {
        assert_eq!(answer, Err(Code::TimedOut));
    }
    let held =
        || world.loader.call_permits.available_permits() + world.loader.slow.available_permits();
    assert_eq!(held(), limits.running + limits.abandoned - 12);
    world.files.release();
    world.is_at_rest().await;
}

#[tokio::test]
async fn a_ticket_is_redeemed_once_though_its_call_has_to_wait_for_the_file() {
    let lines: String = (0..6)
        .map(|number| format!("{} = 'hung-0.md'\n", key(&number.to_string())))
        .collect();
    let world = World::new(
        Limits {
            hung_after: Duration::from_secs(600),
            ..limits()
        },
        &lines,
    );
    let mut calls = JoinSet::new();
    for number in 0..6 {
        let id = format!("toolu_{number}");
        world
            .tickets
            .leave(&id, &"acme:reader".try_into().unwrap())
            .unwrap();
        let caller = Caller::Ticket {
            tickets: Arc::clone(&world.tickets),
            only: None,
            id: Some(id.into()),
        };
        let loader = Arc::clone(&world.loader);
        let key = key(&number.to_string());
        calls.spawn(async move { load(&loader, &key, caller).await });
    }
    world.until(|world| world.files.inside(HUNG[0]) == 4).await;
    sleep(Duration::from_millis(20)).await;
    world.files.release();
    for answer in calls.join_all().await {
        assert_eq!(answer, Ok("hung-0.md".into()));
    }
}

/// Limits under which no permit for a guess comes back during a test.
fn guessing() -> Limits {
    Limits {
        guess_every: Duration::from_secs(3600),
        ..limits()
    }
}

#[tokio::test]
async fn wrong_short_keys_are_looked_up_no_faster_by_one_who_does_not_wait_for_answers() {
    let world = World::new(guessing(), "");
    let free = guessing().free_guesses as usize;
    let looked_up = || world.files.state.lock().unwrap().unknown;
    // As many rounds as this machine needs, and then some more.
    let mut more = 10;
    for round in 0.. {
        let mut calls = burst(&world, (0..50).map(|guess| format!("k-{round}-{guess}")));
        sleep(Duration::from_millis(5)).await;
        calls.shutdown().await;
        more -= usize::from(looked_up() >= free);
        if more == 0 {
            break;
        }
    }
    world.is_at_rest().await;
    assert_eq!(looked_up(), free);
}

#[tokio::test]
async fn a_long_key_never_waits_for_those_who_guess_short_ones_and_a_short_one_does() {
    let world = World::new(guessing(), "");
    let limits = guessing();
    let mut calls = burst(&world, (0..1000).map(|guess| format!("k-{guess}")));
    // Until there are only those that wait for a guess, and no place for another. Before,
    // the queue of all calls may be full.
    let mut wrong = 0;
    while calls.len() > limits.waiting_guesses {
        match calls.join_next().await.unwrap().unwrap() {
            Err(Code::UnknownKey) => wrong += 1,
            answer => assert_eq!(answer, Err(Code::Busy)),
        }
    }
    assert_eq!(wrong, limits.free_guesses);
    for _ in 0..100 {
        assert_eq!(world.load(&key("honest")).await, Ok("honest.md".into()));
    }
    // A wrong long key does not wait either.
    assert_eq!(world.load(&key("wrong")).await, Err(Code::UnknownKey));
    assert_eq!(world.load("k").await, Err(Code::Busy));
    drop(calls);
}

#[tokio::test]
async fn short_keys_that_are_right_wait_for_nothing_however_many_there_are() {
    let lines: String = (0..60)
        .map(|number| format!("k{number} = 'honest.md'\n"))
        .collect();
    let world = World::new(guessing(), &lines);
    for _ in 0..5 {
        let calls = burst(&world, (0..60).map(|number| format!("k{number}")));
        for answer in calls.join_all().await {
            assert_eq!(answer, Ok("honest.md".into()));
        }
    }
    world.is_at_rest().await;
}

/// A map whose reading hangs while the test holds the lock. Calls wait in one line for it, as
/// they do for the one reading of a map that hangs, or that is saved all the time.
struct HungMap {
    line: Arc<Mutex<()>>,
    source: MapSource,
}

impl Maps for HungMap {
    type Directory = <MapSource as Maps>::Directory;
    type Trail = <MapSource as Maps>::Trail;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        let _line = self.line.lock().unwrap();
        self.source.current()
    }

    fn read_ahead(&self) {
        drop(self.current());
    }

    fn bound(&self, map: &Map, name: &BindingName) -> Result<Key, Code> {
        self.source.bound(map, name)
    }

    fn resolve(&self, map: &Map, trail: &Self::Trail, entry: &Entry) -> Result<Grant, Code> {
        self.source.resolve(map, trail, entry)
    }
}

#[tokio::test]
async fn while_a_map_hangs_each_call_is_answered_in_its_own_time_and_none_waits_for_others() {
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..limits()
    };
    let keys: Vec<_> = (0..60).map(|number| key(&number.to_string())).collect();
    let lines = keys.iter().map(|key| format!("{key} = 'honest.md'\n"));
    let tree = Tree::with(format!("[keys]\n{}", lines.collect::<String>()));
    tree.write("honest.md", "honest.md");
    let line = Arc::new(Mutex::new(()));
    let map = HungMap {
        line: Arc::clone(&line),
        source: MapSource::from(Arc::new(tree.live())),
    };
    let threads = Threads::new(limits.running + limits.abandoned);
    let sandbox = Fake(Arc::default());
    let loader = Arc::new(Loader::over(map, sandbox, limits, threads));
    let (held, is_held) = channel();
    let (release, released) = channel::<()>();
    let hung = thread::spawn(move || {
        let _line = line.lock().unwrap();
        held.send(()).unwrap();
        let _ = released.recv();
    });
    is_held.recv().unwrap();
    // The first thread of the server hangs as well.
    loader.start().unwrap();
    let mut calls = JoinSet::new();
    for key in keys.clone() {
        let loader = Arc::clone(&loader);
        calls.spawn(async move { loader.load(&key, &Caller::Nobody).await.map(|it| it.text) });
    }
    // All of them end, though the map still hangs.
    for answer in calls.join_all().await {
        assert!(matches!(answer, Err(Code::TimedOut | Code::Busy)));
    }
    drop(release);
    hung.join().unwrap();
    while !loader.is_idle() {
        sleep(Duration::from_millis(1)).await;
    }
    // However slow this machine is.
    while loader.load(&keys[0], &Caller::Nobody).await.is_err() {}
}

#[test]
fn a_call_may_wait_for_what_is_left_of_a_small_one_and_not_of_a_large_one() {
    let done = |bytes| Outcome::Done(Ok("a".repeat(bytes)));
    assert!(!leaves_much(&Outcome::Done(Err(Code::Internal))));
    assert!(!leaves_much(&done(64 << 10)));
    assert!(leaves_much(&done((64 << 10) + 1)));
}
