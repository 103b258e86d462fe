//! Anything may happen to a session at any moment: calls begin, hang and are cancelled, a file
//! system hangs and answers again, the client does not read, its input ends. The loader is the
//! real one; its guest hangs when it is told to.
//!
//! The threads of the calls are real. So a seed tells what happens to a session, and not which
//! of its threads is faster.

use super::{call, cancel, initialize, rules, stateless};
use crate::{Surface, run_session};
use keyhole_core::{
    Caller, Entry, Executor, Grant, Load, Loader, Location, Map, Maps, Refusal, Target,
    limits::Limits,
};
use proptest::{collection::vec, prelude::*, test_runner::RngSeed};
use std::{
    collections::BTreeSet,
    panic::resume_unwind,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex},
    runtime::{Builder, Handle},
    sync::Semaphore,
    task::{JoinSet, yield_now},
    time::advance,
};

/// What calls ask for. Of the first two, the file may hang; at the fourth, the guest panics;
/// the last key is in no map.
const KEYS: [&str; 5] = [
    "hunter2-long-key-of-hanging-0",
    "hunter2-long-key-of-hanging-1",
    HONEST,
    PANICS,
    "hunter2-no",
];
const HONEST: &str = "hunter2-long-key-of-honest";
const PANICS: &str = "hunter2-long-key-of-panic";

/// How long a thread may take on a busy machine. The clock of the calls stands still meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// All calls end before the session stops waiting for them at its end.
fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(2),
        running: 2,
        waiting: 3,
        ..Limits::default()
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A call with one of [`KEYS`].
    Call(usize),
    /// The client cancels this call, if it has made it.
    Cancel(usize),
    /// The files that may hang do so from now on, or do so no more.
    Hang(bool),
    /// Calls that run are answered, and those that wait are refused.
    Deadline,
    /// The client reads a line.
    Read,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0..KEYS.len()).prop_map(Event::Call),
        2 => (0..12_usize).prop_map(Event::Cancel),
        1 => any::<bool>().prop_map(Event::Hang),
        1 => Just(Event::Deadline),
        2 => Just(Event::Read),
    ]
}

/// The files, and the guest that reads them. Calls that hang are released when it is dropped.
#[derive(Clone, Default)]
struct Disk(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    hangs: bool,
    /// The number of calls in the guest.
    inside: usize,
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    fn hang(&self, hangs: bool) {
        self.state().hangs = hangs;
        self.0.1.notify_all();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.hang(false);
    }
}

impl Executor for Disk {
    type Directory = ();

    fn run(&self, key: &str, grant: Option<Grant<()>>, _: Instant) -> Result<String, Refusal> {
        grant.ok_or(Refusal::UnknownKey)?;
        // Without the line that a panic writes.
        if key == PANICS {
            resume_unwind(Box::new(()));
        }
        let mut state = self.state();
        state.inside += 1;
        if key.contains("hanging") {
            state = self.0.1.wait_while(state, |state| state.hangs).unwrap();
        }
        state.inside -= 1;
        Ok(format!("the text of {key}"))
    }

    fn interrupt(&self) {}
}

/// A map of all keys but the last.
struct Keys(Arc<Map>);

impl Default for Keys {
    fn default() -> Self {
        let location = Location::find(Some(Path::new("map.toml")), |_| None).unwrap();
        let [entries @ .., _] = KEYS.map(|key| format!("{key} = 'a.md'\n"));
        let map = format!("[keys]\n{}", entries.concat());
        Self(Map::parse(map.as_bytes(), &location).unwrap().into())
    }
}

impl Maps for Keys {
    type Directory = ();

    fn map_now(&self, _: Instant) -> Result<Arc<Map>, Refusal> {
        Ok(Arc::clone(&self.0))
    }

    fn resolve(&self, _: &Map, entry: &Entry, _: Instant) -> Result<Grant<()>, Refusal> {
        Ok(Grant {
            directory: (),
            name: entry.path.to_string(),
            max_bytes: entry.max_bytes,
        })
    }
}

/// Lets all tasks run as far as they can, and threads a little.
async fn settle() {
    for _ in 0..3 {
        thread::sleep(Duration::from_micros(50));
        for _ in 0..100 {
            yield_now().await;
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one session, event by event")]
async fn play(events: Vec<Event>, is_stateless: bool) {
    let (limits, disk) = (limits(), Disk::default());
    disk.hang(true);
    let loader = Loader::new(Arc::<Keys>::default(), disk.clone(), limits);
    let loader = Arc::new(loader);
    let (mut to, stdin) = duplex(1 << 20);
    let (stdout, from) = duplex(600);
    let session = tokio::spawn(run_session(
        Arc::clone(&loader),
        Caller::Nobody,
        Surface::general(),
        stdin,
        stdout,
    ));
    // The client reads a line for each of these.
    let reads = Arc::new(Semaphore::new(1));
    let reading = Arc::clone(&reads);
    let reader = tokio::spawn(async move {
        let (mut from, mut read) = (BufReader::new(from), Vec::new());
        loop {
            reading.acquire().await.unwrap().forget();
            if from.read_until(b'\n', &mut read).await.unwrap() == 0 {
                return read;
            }
        }
    });
    let mut lines = match is_stateless {
        true => String::new(),
        false => format!("{}\n", initialize()),
    };
    let mut sent = String::new();
    let (mut calls, mut cancelled) = (Vec::new(), BTreeSet::new());
    for event in events {
        match event {
            Event::Call(key) => {
                let mut request = call(calls.len(), KEYS[key]);
                calls.push(KEYS[key]);
                if is_stateless {
                    request = stateless(request);
                }
                lines += &format!("{request}\n");
            }
            Event::Cancel(id) if id < calls.len() => {
                cancelled.insert(id.to_string());
                lines += &format!("{}\n", cancel(id));
            }
            Event::Cancel(_) => {}
            Event::Hang(hangs) => disk.hang(hangs),
            Event::Deadline => advance(limits.deadline).await,
            Event::Read => reads.add_permits(1),
        }
        to.write_all(lines.as_bytes()).await.unwrap();
        sent += &lines;
        lines.clear();
        settle().await;
        assert!(disk.state().inside <= limits.running);
    }

    // Nothing is released: that a call may not take longer ends them all.
    drop(to);
    reads.add_permits(1000);
    for _ in 0..50 {
        settle().await;
        if session.is_finished() {
            break;
        }
        advance(limits.deadline / 8).await;
    }
    assert!(session.is_finished(), "the session does not end");
    session.await.unwrap().unwrap();
    let got = reader.await.unwrap();
    let answers = rules::answers(sent.as_bytes(), &got);
    let mut answered = BTreeSet::new();
    for answer in &answers {
        if answer["id"] == "init" {
            continue;
        }
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(answered.insert(id), "call {id} is answered twice");
        let result = &answer["result"];
        let code = result["structuredContent"]["code"].as_str();
        let is_own = match code {
            None => result["content"][0]["text"] == format!("the text of {}", calls[id]),
            Some("unknown-key") => calls[id] == KEYS[4],
            Some("internal") => calls[id] == PANICS,
            Some(code) => {
                matches!(code, "busy" | "timed-out") && !answer.to_string().contains("hunter2")
            }
        };
        assert!(is_own, "call {id}, for {}, got {answer}", calls[id]);
    }
    let unanswered = rules::unanswered(sent.as_bytes(), &answers);
    assert!(unanswered.is_subset(&cancelled), "{unanswered:?}");
    assert_eq!(answered.len() + unanswered.len(), calls.len());

    disk.hang(false);
    let began = Instant::now();
    while Handle::current().metrics().num_alive_tasks() > 0 || disk.state().inside > 0 {
        assert!(began.elapsed() < PATIENCE, "it never rests");
        settle().await;
    }
    // As many calls hang and wait as in a new process. As long as one thread is left, others
    // are served.
    let load = |key: &str| {
        let (loader, target) = (loader.clone(), Target::SentKey(key.to_owned()));
        async move {
            let content = loader.load(target, Caller::Nobody).await;
            content.map(|content| content.text)
        }
    };
    let answered = async |key| {
        let (call, began) = (tokio::spawn(load(key)), Instant::now());
        while !call.is_finished() {
            assert!(began.elapsed() < PATIENCE, "it is not answered");
            settle().await;
        }
        call.await.unwrap()
    };
    let served = Ok(format!("the text of {HONEST}"));
    disk.hang(true);
    let mut calls = JoinSet::new();
    for _ in 1..limits.running {
        calls.spawn(load(KEYS[0]));
    }
    settle().await;
    assert_eq!(answered(HONEST).await, served);
    assert_eq!(answered(PANICS).await, Err(Refusal::Internal));
    for _ in 0..=limits.waiting {
        calls.spawn(load(KEYS[0]));
    }
    settle().await;
    assert!(calls.try_join_next().is_none(), "a place is not given back");
    advance(limits.deadline).await;
    let ends = calls.join_all().await.into_iter().map(Result::unwrap_err);
    let ran = ends.filter(|code| *code == Refusal::TimedOut).count();
    assert_eq!(ran, limits.running, "a permit is not given back");
    // If all hang, a call is answered at once, until they go on: the clock stands still.
    advance(limits.deadline).await;
    settle().await;
    assert_eq!(answered(HONEST).await, Err(Refusal::TimedOut));
    disk.hang(false);
    let began = Instant::now();
    while answered(HONEST).await != served {
        assert!(began.elapsed() < PATIENCE, "it never goes on");
        settle().await;
    }
}

/// The same sessions each time, unless PROPTEST_RNG_SEED asks for others.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_call_gets_its_own_answer_by_its_deadline_and_nothing_is_held_afterwards(
        events in vec(event(), 1..25),
        is_stateless in any::<bool>(),
    ) {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(events, is_stateless));
    }
}
