//! How calls delay each other: here with files that hang. The guest is a fake that hangs
//! when a test wants it. Its threads are real. The clock stands still while one of them is
//! busy, unless a test moves it: so no answer depends on how busy the machine is.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod guesses;

use super::Loader;
use crate::{
    call::Target,
    caller::Caller,
    code::Code,
    grant::{Executor, Grant},
    limits::Limits,
    map::{LiveMap, tests::live},
};
use cap_std::fs::Dir;
use keyhole_tree::Tree;
use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    task::{JoinSet, yield_now},
    time::advance,
};

/// A key that nobody can guess.
fn key(of: &str) -> String {
    format!("k-2c1f8a96d0e34b57-{of}").replace('.', "-")
}

/// The deadline comes only if a test lets it.
fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(3600),
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
    type Directory = Dir;

    fn run(&self, _: &str, grant: Option<Grant>, _: Instant) -> Result<String, Code> {
        let Some(Grant { name, .. }) = grant else {
            return Err(Code::UnknownKey);
        };
        assert!(name != "panic.md", "as it was told");
        let mut state = self.0.state.lock().unwrap();
        *state.inside.entry(name.clone()).or_default() += 1;
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
    loader: Arc<Loader<LiveMap, Fake>>,
    files: Arc<Files>,
    limits: Limits,
}

const HUNG: [&str; 3] = ["hung-0.md", "hung-1.md", "hung-2.md"];

impl World {
    /// A world whose map has a key for each file, and the key `k` for one more.
    fn new(limits: Limits) -> Self {
        let mut map = "[keys]\nk = 'honest.md'\n".to_owned();
        let names = ["honest.md", "panic.md"].into_iter().chain(HUNG);
        for name in names.clone() {
            map.push_str(&format!("{} = '{name}'\n", key(name)));
        }
        let tree = Tree::with(map);
        for name in names {
            tree.write(name, name);
        }
        let files = Arc::new(Files::default());
        let loader = Loader::new(live(&tree).into(), Fake(Arc::clone(&files)), limits);
        Self {
            loader: Arc::new(loader),
            files,
            limits,
            _tree: tree,
        }
    }

    async fn load(&self, key: &str) -> Result<String, Code> {
        load(&self.loader, key).await
    }

    /// Waits until `what` holds. It polls, because other threads change the state and notify
    /// nobody; and it does not ask the clock, which stands still.
    async fn until(&self, what: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !what(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "never");
            thread::sleep(Duration::from_millis(1));
            yield_now().await;
        }
    }

    async fn hang(&self, file: &str, calls: usize) {
        self.until(|world| world.files.inside(file) == calls).await;
    }

    /// How many calls count as running, and how many as slow.
    fn held(&self) -> (usize, usize) {
        let running = self.limits.running - self.loader.running.available_permits();
        (
            running,
            self.limits.slow - self.loader.slow.available_permits(),
        )
    }

    /// Waits until nothing is held any more.
    async fn is_at_rest(&self) {
        let queue = self.limits.running + self.limits.waiting;
        self.until(|world| {
            world.held() == (0, 0) && world.loader.queue.available_permits() == queue
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

async fn load(loader: &Loader<LiveMap, Fake>, key: &str) -> Result<String, Code> {
    let target = Target::Key(key.to_owned().into());
    let content = loader.load(target, Caller::Nobody).await;
    content.map(|content| content.text)
}

/// Starts calls with these keys, all at once.
fn burst(world: &World, keys: impl IntoIterator<Item = String>) -> JoinSet<Result<String, Code>> {
    let mut calls = JoinSet::new();
    for key in keys {
        let loader = Arc::clone(&world.loader);
        calls.spawn(async move { load(&loader, &key).await });
    }
    calls
}

/// The answers of all of these calls. It does not ask the clock, which stands still.
async fn answers(mut calls: JoinSet<Result<String, Code>>) -> Vec<Result<String, Code>> {
    let began = Instant::now();
    let mut answers = Vec::new();
    while !calls.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "never");
        thread::sleep(Duration::from_millis(1));
        yield_now().await;
        answers.extend(std::iter::from_fn(|| calls.try_join_next()).map(Result::unwrap));
    }
    answers
}

/// Starts so many calls for a file that hangs, and waits until they hang and count as slow.
async fn hung(world: &World, file: &str, calls: usize) -> JoinSet<Result<String, Code>> {
    let started = burst(world, vec![key(file); calls]);
    world.hang(file, calls).await;
    advance(world.limits.slow_after).await;
    world.until(|world| world.held().0 == 0).await;
    started
}

/// The walk lets no more than `running` calls wait for one file system.
#[tokio::test(start_paused = true)]
async fn three_file_systems_that_hang_leave_all_that_may_run_to_the_others() {
    let world = World::new(limits());
    let most = limits().running;
    let mut calls = Vec::new();
    for file in HUNG {
        calls.push(hung(&world, file, most).await);
    }
    assert_eq!(world.held(), (0, 3 * most));
    let served = answers(burst(&world, vec![key("honest.md"); 40])).await;
    assert_eq!(served, vec![Ok("honest.md".into()); 40]);
    world.files.release();
    for (calls, file) in calls.into_iter().zip(HUNG) {
        assert_eq!(answers(calls).await, vec![Ok(file.into()); most]);
    }
    world.is_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_holds_its_permit_until_its_thread_ends() {
    let world = World::new(limits());
    let (running, slow) = (limits().running, limits().slow);
    for file in HUNG {
        // Before it counts as slow, and then.
        let mut calls = burst(&world, vec![key(file); running]);
        world.hang(file, running).await;
        calls.shutdown().await;
        assert_eq!(world.held().0, running);
        advance(limits().slow_after).await;
        world.until(|world| world.held().0 == 0).await;
    }
    assert_eq!(world.held(), (0, slow));
    assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
    world.files.release();
    world.is_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_internal_and_holds_nothing() {
    let world = World::new(limits());
    for _ in 0..5 {
        assert_eq!(world.load(&key("panic.md")).await, Err(Code::Internal));
    }
    world.is_at_rest().await;
    assert_eq!(world.load("k").await, Ok("honest.md".into()));
}
