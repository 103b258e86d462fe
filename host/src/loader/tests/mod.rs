//! How calls delay each other: here with files that hang. The guest is a fake that hangs
//! when a test wants it. The threads and the time are real. No test measures time.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod first;
mod guesses;
mod hung_map;

use super::{Loader, leaves_much};
use crate::{
    call::Outcome,
    caller::Caller,
    code::Code,
    grant::Grant,
    limits::Limits,
    map::{MapSource, tests::Tree},
    sandbox::Executor,
    ticket::Tickets,
};
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex},
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

#[test]
fn a_call_may_wait_for_what_is_left_of_a_small_one_and_not_of_a_large_one() {
    let done = |bytes| Outcome::Done(Ok("a".repeat(bytes)));
    let refused = |code| Outcome::Done(Err(code));
    assert!(!leaves_much(&refused(Code::Internal)));
    assert!(leaves_much(&refused(Code::NotUtf8)));
    assert!(leaves_much(&refused(Code::Changed)));
    assert!(!leaves_much(&done(64 << 10)));
    assert!(leaves_much(&done((64 << 10) + 1)));
}
