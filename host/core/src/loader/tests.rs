//! How calls delay each other: here with files that hang. The guest is a fake that hangs
//! when a test wants it. Its threads are real. The clock stands still while one of them is
//! busy, unless a test moves it: so no answer depends on how busy the machine is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Loader, TO_END};
use crate::{
    call::Target,
    caller::Caller,
    grant::{Executor, Grant},
    limits::Limits,
    map::{LiveMap, tests::live},
    refusal::Refusal,
};
use keyhole_tree::Tree;
use keyhole_walk::Handle;
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    task::{JoinSet, yield_now},
    time::advance,
};

type Answer = Result<String, Refusal>;

fn key(of: &str) -> String {
    format!("k-2c1f8a96d0e34b57-{of}").replace('.', "-")
}

fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(3600),
        ..Limits::default()
    }
}

const HUNG: &str = "hung.md";

/// The guest. Files whose names begin with `hung` hang until they are released.
#[derive(Clone, Default)]
struct Files(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    released: bool,
    hung: usize,
}

impl Files {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    fn release(&self) {
        self.state().released = true;
        self.0.1.notify_all();
    }
}

impl Drop for Files {
    /// So that a failing test ends too.
    fn drop(&mut self) {
        self.release();
    }
}

impl Executor for Files {
    type Directory = Handle;

    fn run(&self, _: &str, grant: Option<Grant>, _: Instant) -> Answer {
        let name = grant.ok_or(Refusal::UnknownKey)?.name;
        assert!(name != "panic.md", "as it was told");
        if name.starts_with("hung") {
            let mut state = self.state();
            state.hung += 1;
            let wait = self.0.1.wait_while(state, |state| !state.released);
            wait.unwrap().hung -= 1;
        }
        Ok(name)
    }

    fn interrupt(&self) {}
}

struct World {
    _tree: Tree,
    files: Files,
    loader: Arc<Loader<LiveMap, Files>>,
}

impl World {
    /// A world whose map has a key for each file.
    fn new() -> Self {
        let names = ["honest.md", "panic.md", HUNG];
        let tree = Tree::of(&names);
        let entries = names
            .iter()
            .map(|name| format!("{} = '{name}'\n", key(name)));
        let map: String = entries.collect();
        tree.write("map.toml", format!("[keys]\n{map}"));
        let files = Files::default();
        let loader = Loader::new(live(&tree).into(), files.clone(), limits());
        Self {
            _tree: tree,
            files,
            loader: Arc::new(loader),
        }
    }

    /// Starts calls with these keys, all at once.
    fn calls(&self, keys: impl IntoIterator<Item = String>) -> JoinSet<Answer> {
        let call = |key: String| {
            let (loader, target) = (self.loader.clone(), Target::Key(key));
            async move {
                let content = loader.load(target, Caller::Nobody).await;
                content.map(|content| content.text)
            }
        };
        keys.into_iter().map(call).collect()
    }

    async fn load(&self, key: &str) -> Answer {
        self.calls([key.to_owned()]).join_all().await.remove(0)
    }

    fn held(&self) -> usize {
        limits().running - self.loader.running.available_permits()
    }

    /// Waits until exactly `calls` calls hang.
    async fn hang(&self, calls: usize) {
        until(|| self.files.state().hung == calls).await;
    }

    /// Releases what hangs, and waits until nothing is held any more.
    async fn comes_to_rest(&self) {
        self.files.release();
        let queue = limits().running + limits().waiting;
        let free = || self.loader.queue.available_permits();
        until(|| self.held() == 0 && free() == queue).await;
    }
}

/// Waits until `what` holds. It polls, because other threads change the state and notify
/// nobody; and it does not ask the clock, which stands still.
async fn until(mut what: impl FnMut() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "never");
        thread::sleep(Duration::from_millis(1));
        yield_now().await;
    }
}

/// All of these calls get the content of this file.
async fn get(mut calls: JoinSet<Answer>, file: &str) {
    until(|| {
        while let Some(answer) = calls.try_join_next() {
            assert_eq!(answer.unwrap(), Ok(file.to_owned()));
        }
        calls.is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn as_long_as_one_thread_is_left_calls_are_served() {
    let world = World::new();
    let most = limits().running - 1;
    let hung = world.calls(vec![key(HUNG); most]);
    world.hang(most).await;
    get(world.calls(vec![key("honest.md"); 40]), "honest.md").await;
    world.files.release();
    get(hung, HUNG).await;
    world.comes_to_rest().await;
}

/// Nothing is left to wait for: the answer comes without the clock, which stands still.
#[tokio::test(start_paused = true)]
async fn if_all_threads_hang_a_call_is_answered_at_once_until_one_goes_on() {
    let world = World::new();
    let most = limits().running;
    let mut hung = world.calls(vec![key(HUNG); most]);
    world.hang(most).await;
    advance(limits().deadline).await;
    let mut late = 0;
    until(|| {
        while let Some(answer) = hung.try_join_next() {
            assert_eq!(answer.unwrap(), Err(Refusal::TimedOut));
            late += 1;
        }
        late == most
    })
    .await;
    advance(TO_END).await;
    until(|| world.loader.late.load(Ordering::Relaxed) == most).await;
    assert_eq!(world.load(&key("honest.md")).await, Err(Refusal::TimedOut));
    world.comes_to_rest().await;
    assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_holds_its_permit_until_its_thread_ends() {
    let world = World::new();
    let mut calls = world.calls(vec![key(HUNG); 3]);
    world.hang(3).await;
    calls.shutdown().await;
    assert_eq!(world.held(), 3);
    assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
    world.comes_to_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_internal_and_holds_nothing() {
    let world = World::new();
    for _ in 0..5 {
        assert_eq!(world.load(&key("panic.md")).await, Err(Refusal::Internal));
    }
    world.comes_to_rest().await;
    assert_eq!(world.load(&key("honest.md")).await, Ok("honest.md".into()));
}
