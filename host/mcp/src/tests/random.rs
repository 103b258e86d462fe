//! Anything may happen to a session at any moment: calls begin, hang and are cancelled, a file
//! system hangs and answers again, the client does not read, its input ends. The loader is the
//! real one; its guest hangs when it is told to.
//!
//! What happens follows from a seed. The threads of the calls are real, so a seed tells what
//! happens to a session, and not which of its threads is faster.

use super::{call, cancel, initialize, stateless};
use crate::{Load, Surface, run_session};
use keyhole_core::{
    BindingName, CallPermit, Caller, Code, Content, Entry, Executor, Grant, Key, Loader, Location,
    Map, Maps, Target, limits::Limits,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    env,
    ops::Range,
    path::Path,
    sync::{Arc, Condvar, Mutex},
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

/// What calls ask for. Of the first two, the file may hang; the last key is in no map, and so
/// short that it can be guessed.
const KEYS: [&str; 4] = [
    "hunter2-long-key-of-hanging-0",
    "hunter2-long-key-of-hanging-1",
    "hunter2-long-key-of-honest",
    "hunter2-no",
];

/// The sessions that are played each time.
const SEEDS: Range<u64> = 0..64;

/// All calls end before the session stops waiting for them at its end.
fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(2),
        running: 2,
        waiting: 3,
        slow: 1,
        free_guesses: 1,
        waiting_guesses: 1,
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
    /// Calls that run count as slow from now on.
    SlowAfter,
    /// Calls that run are answered, and those that wait are refused.
    Deadline,
    /// The client reads a line.
    Read,
}

/// Numbers that follow from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed >> 33) % limit as u64).unwrap()
    }

    fn event(&mut self) -> Event {
        match self.below(12) {
            0..5 => Event::Call(self.below(KEYS.len())),
            5..7 => Event::Cancel(self.below(12)),
            7 => Event::Hang(self.below(2) == 0),
            8 => Event::SlowAfter,
            9 => Event::Deadline,
            _ => Event::Read,
        }
    }
}

/// The files. Calls that hang are released when it is dropped.
struct Disk(Arc<(Mutex<State>, Condvar)>);

struct State {
    hangs: bool,
    /// The number of calls in the guest.
    inside: usize,
}

impl Disk {
    fn hang(&self, hangs: bool) {
        self.0.0.lock().unwrap().hangs = hangs;
        self.0.1.notify_all();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.hang(false);
    }
}

struct Guest(Arc<(Mutex<State>, Condvar)>);

impl Executor for Guest {
    type Directory = ();

    fn run(&self, key: &str, grant: Option<Grant<()>>, _: Instant) -> Result<String, Code> {
        grant.ok_or(Code::UnknownKey)?;
        let mut state = self.0.0.lock().unwrap();
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

impl Maps for Keys {
    type Directory = ();

    fn map_now(&self) -> Result<Arc<Map>, Code> {
        Ok(Arc::clone(&self.0))
    }

    fn bound(&self, _: &Map, _: &BindingName) -> Result<Key, Code> {
        Err(Code::UnknownKey)
    }

    fn resolve(&self, _: &Map, _: &Key, entry: &Entry) -> Result<Grant<()>, Code> {
        Ok(Grant {
            directory: (),
            name: entry.path().to_owned(),
            max_bytes: entry.max_bytes(),
        })
    }
}

/// What is wrong with a source of documents.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// A call gets the document of the one before it.
    Swapped,
    /// A call's permit is not given back.
    Held,
    /// A call is never answered.
    Silent,
}

struct Source {
    loader: Loader<Keys, Guest>,
    mistake: Mistake,
    last: Mutex<Option<String>>,
    held: Mutex<Vec<CallPermit>>,
}

impl Load for Source {
    async fn load(&self, target: Target, caller: Caller) -> Result<Content, Code> {
        let mut content = self.loader.load(target, caller).await?;
        match self.mistake {
            Mistake::None => {}
            Mistake::Swapped => {
                let last = self.last.lock().unwrap().replace(content.text.clone());
                content.text = last.unwrap_or(content.text);
            }
            Mistake::Held => self.held.lock().unwrap().push(content.permit.clone()),
            Mistake::Silent => std::future::pending().await,
        }
        Ok(content)
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

/// Plays a session. The error says which promise was broken.
async fn play(events: &[Event], protocol: usize, mistake: Mistake) -> Result<(), String> {
    let limits = limits();
    let location = Location::find(Some(Path::new("map.toml")), |_| None).unwrap();
    let [entries @ .., _] = KEYS.map(|key| format!("{key} = 'a.md'\n"));
    let map = format!("[keys]\n{}", entries.concat());
    let map = Arc::new(Map::parse(map.as_bytes(), &location).unwrap());
    let state = Mutex::new(State {
        hangs: true,
        inside: 0,
    });
    let disk = Disk(Arc::new((state, Condvar::new())));
    let inside = || disk.0.0.lock().unwrap().inside;
    let loader = Loader::new(Keys(map).into(), Guest(Arc::clone(&disk.0)), limits);
    let source = Arc::new(Source {
        loader,
        mistake,
        last: Mutex::default(),
        held: Mutex::default(),
    });

    let (mut to, stdin) = duplex(1 << 20);
    let (stdout, from) = duplex(600);
    let session = tokio::spawn(run_session(
        Arc::clone(&source),
        Caller::Nobody,
        Surface::general(),
        stdin,
        stdout,
        std::future::pending(),
    ));
    // The client reads a line for each of these.
    let reads = Arc::new(Semaphore::new(1));
    let reading = Arc::clone(&reads);
    let reader = tokio::spawn(async move {
        let (mut lines, mut read) = (BufReader::new(from).lines(), Vec::new());
        loop {
            reading.acquire().await.unwrap().forget();
            match lines.next_line().await.unwrap() {
                Some(line) => read.push(line),
                None => return read,
            }
        }
    });
    let mut lines = Vec::new();
    if protocol == 0 {
        lines.push(initialize());
    }
    let (mut calls, mut cancelled) = (Vec::new(), BTreeSet::new());
    for event in events {
        match *event {
            Event::Call(key) => {
                let sent = call(calls.len(), KEYS[key]);
                calls.push(KEYS[key]);
                lines.push(if protocol == 0 { sent } else { stateless(sent) });
            }
            Event::Cancel(id) if id < calls.len() => {
                cancelled.insert(id);
                lines.push(cancel(id));
            }
            Event::Cancel(_) => {}
            Event::Hang(hangs) => disk.hang(hangs),
            Event::SlowAfter => advance(limits.slow_after).await,
            Event::Deadline => advance(limits.deadline).await,
            Event::Read => reads.add_permits(1),
        }
        for line in lines.drain(..) {
            to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        settle().await;
        if inside() > limits.threads() {
            return Err(format!("{} threads hang", inside()));
        }
    }

    // Nothing is released: that a call may not take longer ends them all.
    drop(to);
    reads.add_permits(1000);
    for _ in 0..50 {
        settle().await;
        if session.is_finished() {
            break;
        }
        advance(limits.slow_after).await;
    }
    if !session.is_finished() {
        return Err("the session does not end".to_owned());
    }
    session.await.unwrap().map_err(|error| error.to_string())?;
    let mut unanswered: BTreeSet<usize> = (0..calls.len()).collect();
    for line in reader.await.unwrap() {
        let answer: Value = serde_json::from_str(&line).unwrap();
        if answer["id"] == "init" {
            continue;
        }
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        if !unanswered.remove(&id) {
            return Err(format!("call {id} is answered twice"));
        }
        let result = &answer["result"];
        let code = result["structuredContent"]["code"].as_str();
        let own = match code {
            None => result["content"][0]["text"] == format!("the text of {}", calls[id]),
            Some("unknown-key") => calls[id] == KEYS[3],
            Some(code) => matches!(code, "busy" | "timed-out") && !line.contains("hunter2"),
        };
        if !own {
            return Err(format!("call {id}, for {}, got {line}", calls[id]));
        }
    }
    if let Some(id) = unanswered.difference(&cancelled).next() {
        return Err(format!("call {id} is not answered"));
    }

    disk.hang(false);
    let began = Instant::now();
    while Handle::current().metrics().num_alive_tasks() > 0 || inside() > 0 {
        if began.elapsed() > Duration::from_secs(60) {
            return Err("the process does not come to rest".to_owned());
        }
        // A guess that was wrong counts for so long.
        advance(limits.guess_every).await;
        settle().await;
    }
    // As many calls hang and wait as in a new process.
    disk.hang(true);
    let mut calls = JoinSet::new();
    for _ in 0..limits.running + limits.waiting {
        let source = Arc::clone(&source);
        calls.spawn(async move {
            let target = Target::Key(KEYS[0].to_owned().into());
            source.loader.load(target, Caller::Nobody).await
        });
    }
    settle().await;
    if calls.try_join_next().is_some() {
        return Err("a place to wait is not given back".to_owned());
    }
    advance(limits.slow_after).await;
    settle().await;
    advance(limits.deadline).await;
    let mut ran = 0;
    for answer in calls.join_all().await {
        ran += usize::from(answer.unwrap_err() == Code::TimedOut);
    }
    match ran == limits.threads() {
        true => Ok(()),
        false => Err(format!("{ran} calls ran: a permit is not given back")),
    }
}

/// The session that follows from a seed.
fn from(seed: u64, mistake: Mistake) -> Result<(), String> {
    let mut chance = Chance(seed);
    let protocol = chance.below(2);
    let length = 1 + chance.below(24);
    let events: Vec<Event> = (0..length).map(|_| chance.event()).collect();
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let played = runtime.block_on(play(&events, protocol, mistake));
    played.map_err(|broken| format!("{broken}\n{events:?}"))
}

#[test]
fn each_call_gets_its_own_answer_by_its_deadline_and_nothing_is_held_afterwards() {
    let seeds = match env::var("KEYHOLE_SEEDS") {
        Ok(seeds) => {
            let (first, end) = seeds.split_once("..").expect("KEYHOLE_SEEDS=FIRST..END");
            first.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => SEEDS,
    };
    for seed in seeds {
        if let Err(broken) = from(seed, Mistake::None) {
            let again = format!("KEYHOLE_SEEDS={seed}..{}", seed + 1);
            panic!("{broken}\n{again} ./x test each_call_gets");
        }
    }
}

#[test]
fn a_source_that_makes_a_mistake_is_found() {
    for (mistake, broken) in [
        (Mistake::Swapped, "got"),
        (Mistake::Held, "a permit is not given back"),
        (Mistake::Silent, "does not end"),
    ] {
        let found = SEEDS.filter_map(|seed| from(seed, mistake).err());
        let mut found = found.filter(|found| found.contains(broken));
        assert!(found.next().is_some(), "{mistake:?}");
    }
}
