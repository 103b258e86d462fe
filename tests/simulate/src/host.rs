//! The replacements for the program's threads, map source and sandbox. The map and the
//! resolution are the host's own, the decision is the guest's.

use crate::{
    files::{Files, Handle},
    maps,
    sim::{self, Broken, Give},
};
use keyhole::{
    BindingName, Code, Entry, Grant, Job, Key, LiveMap, Map, Maps, Runner, locate,
    sandbox::Executor,
    walk::{Trail, Walker},
};
use keyhole_model::{
    disk::{JANE, MS, ROOT},
    guest,
};
use std::{
    io,
    sync::{Arc, Mutex},
    time::Instant,
};

/// Threads that run when the seed says so.
#[derive(Clone, Copy, Debug)]
pub struct Threads;

impl Runner for Threads {
    fn run(&self, job: Job) -> io::Result<()> {
        sim::with(|sim| {
            if sim.rng.once_in(sim.faults.no_thread) {
                sim.note("no thread", |_| "the system refuses a thread".into());
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if sim.broken == Some(Broken::LostPermit) && sim.rng.once_in(20) {
                std::mem::forget(job);
                return Ok(());
            }
            sim.jobs.push(job);
            Ok(())
        })
    }
}

/// The map on the disk.
pub struct Source {
    live: LiveMap<Files>,
    last: Mutex<Option<Arc<Map>>>,
}

impl Source {
    /// The map at the user's path.
    #[must_use]
    pub fn new() -> Self {
        Self {
            live: LiveMap::over(Files, maps::location()),
            last: Mutex::default(),
        }
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::new()
    }
}

impl Maps for Source {
    type Directory = Handle;
    type Trail = Option<Trail<Handle>>;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        let (map, trail) = self
            .live
            .current_and_trail()
            .map_err(|error| error.code())?;
        if sim::with(|sim| sim.broken) == Some(Broken::StaleMap) {
            let before = self.last.lock().unwrap().replace(Arc::clone(&map));
            return Ok((before.unwrap_or(map), trail));
        }
        Ok((map, trail))
    }

    fn read_ahead(&self) {
        drop(self.live.current());
    }

    fn bound(&self, map: &Map, name: &BindingName) -> Result<Key, Code> {
        let key = map
            .binding(name)
            .and_then(|binding| binding.key_in(&Walker::new(Files), map).ok());
        key.ok_or(Code::UnknownKey)
    }

    fn resolve(
        &self,
        map: &Map,
        trail: &Self::Trail,
        entry: &Entry,
    ) -> Result<Grant<Handle>, Code> {
        if sim::with(|sim| sim.broken) == Some(Broken::FollowsAll) {
            return follow(entry);
        }
        let (directory, name) = locate(&Walker::new(Files), map, trail.as_ref(), entry)?;
        Ok(Grant {
            directory,
            name,
            max_bytes: entry.max_bytes(),
        })
    }
}

/// Follows all links, as a plain `open` would.
fn follow(entry: &Entry) -> Result<Grant<Handle>, Code> {
    sim::give(Give::Way);
    sim::with(|sim| {
        let disk = &sim.world.disk;
        let mut path = entry.path().to_owned();
        let mut looked = Vec::new();
        // The target of the last link of the name, if there is one.
        if let Ok(id) = disk.find(&path, JANE, false, &mut looked)
            && let keyhole_model::disk::Node::Link(target) = &disk.nodes[id].node
            && target.starts_with('/')
        {
            path = target.to_string();
        }
        let (directory, name) = disk
            .parent(&path, ROOT, &mut looked)
            .map_err(|_| Code::NotFound)?;
        Ok(Grant {
            directory: Handle::new(disk, directory),
            name: name.to_string(),
            max_bytes: entry.max_bytes(),
        })
    })
}

/// The guest's own logic, without the sandbox.
#[derive(Clone, Debug)]
pub struct Native {
    /// The agent that the server is for.
    pub agent: Option<&'static str>,
}

impl Executor<Handle> for Native {
    fn call(
        &self,
        key: &str,
        grant: Option<Grant<Handle>>,
        deadline: Instant,
    ) -> Result<String, Code> {
        let late = || tokio::time::Instant::now().into_std() >= deadline;
        if late() {
            return Err(Code::TimedOut);
        }
        let broken = sim::with(|sim| sim.broken);
        let answer = match grant {
            None => Err("unknown-key".to_owned()),
            Some(grant) if broken == Some(Broken::NoRest) => raw(&grant),
            Some(grant) => guest::load(&Files, grant.directory, &grant.name, grant.max_bytes),
        };
        match answer {
            Ok(text) => {
                sim::with(|sim| {
                    let (number, began) = (sim.thread, sim.began);
                    sim.note(("gives", &text), |_| format!("[{number}] gives {text:?}"));
                    sim.world.sync();
                    if let Err(what) = sim.world.judge(key, self.agent, &text, began) {
                        sim.violation(|| what);
                    }
                    let now = sim.world.now;
                    sim.given.push((key.to_owned(), text.clone(), now));
                });
                Ok(text)
            }
            Err(_) if late() => Err(Code::TimedOut),
            Err(name) => {
                let code = Code::ALL.iter().find(|code| code.as_str() == name);
                Err(code.copied().unwrap_or(Code::Internal))
            }
        }
    }

    /// It never computes for long.
    fn interrupt(&self) {}
}

/// Opens and reads the file, whatever others do with it.
fn raw(grant: &Grant<Handle>) -> Result<String, String> {
    use keyhole::walk::FileSystem as _;
    let failed = |_| "internal".to_owned();
    let name = std::ffi::OsStr::new(&grant.name);
    let file = Files.open(&grant.directory, name).map_err(failed)?;
    let mut bytes = vec![0; 1 << 12];
    let got = Files.read(&file, &mut bytes, 0).map_err(failed)?;
    bytes.truncate(got);
    String::from_utf8(bytes).map_err(|_| "not-utf8".to_owned())
}

/// The longest time that a call may take, in nanoseconds: as long as it may wait, and then
/// as long as it may run.
pub const LONGEST: u64 = 10_050 * MS;
