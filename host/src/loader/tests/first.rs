//! The first thread: what it does before it runs calls, and who waits for it.

use super::{Loader, key, limits};
use crate::{
    caller::Caller,
    code::Code,
    grant::Grant,
    map::{BindingName, Entry, Key, Map, MapSource, Maps, tests::Tree},
    sandbox::Executor,
    threads::{Job, Runner, Threads},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread::{self, ThreadId},
    time::Instant,
};
use tokio::{join, task::yield_now};

/// Counts how often it is read ahead.
struct CountedMap {
    source: MapSource,
    ahead: Arc<AtomicUsize>,
    may_use_threads: AtomicBool,
}

impl Maps for CountedMap {
    type Directory = <MapSource as Maps>::Directory;
    type Trail = <MapSource as Maps>::Trail;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        assert!(self.may_use_threads.load(Ordering::Relaxed));
        self.source.current()
    }

    fn use_threads(&self) {
        self.may_use_threads.store(true, Ordering::Relaxed);
    }

    fn read_ahead(&self) {
        self.ahead.fetch_add(1, Ordering::Relaxed);
    }

    fn bound(&self, map: &Map, name: &BindingName) -> Result<Key, Code> {
        self.source.bound(map, name)
    }

    fn resolve(&self, map: &Map, trail: &Self::Trail, entry: &Entry) -> Result<Grant, Code> {
        self.source.resolve(map, trail, entry)
    }
}

/// Says which threads ran calls.
struct Ran(Arc<Mutex<Vec<ThreadId>>>);

impl Executor for Ran {
    fn call(&self, _: &str, _: Option<Grant>, _: Instant) -> Result<String, Code> {
        self.0.lock().unwrap().push(thread::current().id());
        Ok("text".to_owned())
    }

    fn interrupt(&self) {}
}

/// Threads that the test can count.
struct Counted(Arc<Threads>);

impl Runner for Counted {
    fn run(&self, job: Job) -> io::Result<()> {
        self.0.run(job)
    }
}

#[tokio::test]
async fn the_first_call_waits_for_the_thread_that_loads_and_reads_the_map_itself() {
    let key = key("1");
    let tree = Tree::with(format!("[keys]\n{key} = 'honest.md'\n"));
    tree.write("honest.md", "honest.md");
    for comes_early in [true, false] {
        let (ran, ahead) = (Arc::default(), Arc::<AtomicUsize>::default());
        let map = CountedMap {
            source: MapSource::from(Arc::new(tree.live())),
            ahead: Arc::clone(&ahead),
            may_use_threads: AtomicBool::new(false),
        };
        let limits = limits();
        let threads = Arc::new(Threads::new(limits.running + limits.abandoned));
        let counted = Counted(Arc::clone(&threads));
        let loader = Loader::over(map, Ran(Arc::clone(&ran)), limits, counted);
        let (release, released) = channel::<()>();
        let (tell, told) = channel();
        loader
            .start_with(move || {
                tell.send(thread::current().id()).unwrap();
                let _ = released.recv();
            })
            .unwrap();
        let first = told.recv().unwrap();
        let release = async {
            while comes_early && !loader.work.is_called.load(Ordering::Relaxed) {
                yield_now().await;
            }
            drop(release);
            while !comes_early && ahead.load(Ordering::Relaxed) == 0 {
                yield_now().await;
            }
        };
        match comes_early {
            true => {
                let (answer, ()) = join!(loader.load(&key, &Caller::Nobody), release);
                assert_eq!(answer.unwrap().text, "text");
                assert_eq!(*ran.lock().unwrap(), [first]);
                assert_eq!(threads.number(), 1);
                assert_eq!(ahead.load(Ordering::Relaxed), 0);
            }
            false => release.await,
        }
    }
}
