//! A map that hangs: each call is answered in its own time.

use super::{Fake, Loader, key, limits};
use crate::{
    caller::Caller,
    code::Code,
    grant::Grant,
    limits::Limits,
    map::{BindingName, Entry, Key, Map, MapSource, Maps, tests::Tree},
    threads::Threads,
};
use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};
use tokio::{task::JoinSet, time::sleep};

/// A map whose reading hangs while the test holds the lock. Calls wait in one line for it, as
/// they do for the one reading of a map that hangs, or that is saved all the time.
struct HungMap {
    line: Arc<Mutex<()>>,
    source: MapSource,
    /// Told when it is read ahead.
    ahead: Sender<()>,
}

impl Maps for HungMap {
    type Directory = <MapSource as Maps>::Directory;
    type Trail = <MapSource as Maps>::Trail;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        let _line = self.line.lock().unwrap();
        self.source.current()
    }

    fn read_ahead(&self) {
        self.ahead.send(()).unwrap();
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
    let (ahead, is_read_ahead) = channel();
    let map = HungMap {
        ahead,
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
    // The thread that reads it ahead hangs as well.
    loader.start().unwrap();
    is_read_ahead.recv().unwrap();
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
