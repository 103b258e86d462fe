//! The files and the loader that components attack.

use keyhole_core::{
    Caller, Executor, Grant, LiveMap, Load, Loader, Location, Refusal, Target, limits::Limits,
    sandbox::Sandbox,
};
use keyhole_tests::PATIENCE;
use keyhole_tree::Tree;
pub(crate) use keyhole_tree::fifo;
use keyhole_walk::Handle;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::sleep,
};
use wasmtime::{Engine, component::Component};

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

/// A word in everything that no attack may get.
pub(super) const CANARY: &str = "canary";
/// The first line of the granted file.
pub(super) const GRANTED: &str = "granted\n";
/// The deadline for attacks that must run into it.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// The default limits. An attack that must run into its deadline need not wait for long.
pub(super) fn limits_for(promise: &str) -> Limits {
    Limits {
        deadline: match promise {
            "`timed-out`" => SOON,
            _ => PATIENCE,
        },
        ..Limits::default()
    }
}

/// What a call got, as the lists of attacks promise it: a text, or a code.
pub(super) fn outcome(got: Result<String, Refusal>) -> String {
    got.unwrap_or_else(|code| format!("`{}`", code.as_str()))
}

/// Loads a component that this package's build script precompiled.
pub(super) fn component(engine: &Engine, image: &'static [u8]) -> wasmtime::Result<Component> {
    // SAFETY: the image was made by `Engine::precompile_component` in this
    // package's own build script, and is part of this program.
    unsafe { Component::deserialize(engine, image) }
}

/// The guest of `tests/hostile/src/`: it attacks, and for the key `honest` it is honest.
pub(super) fn guest(engine: &Engine, limits: Limits) -> Sandbox {
    Sandbox::new(&component(engine, IMAGE).unwrap(), limits).unwrap()
}

/// The guest, and perhaps a component that can only attack. Both share an engine, and a loader's
/// threads and permits.
pub(super) struct Guests {
    pub(super) guest: Sandbox,
    pub(super) attacker: Option<Sandbox>,
}

pub(super) fn alone(guest: Sandbox) -> Guests {
    Guests {
        guest,
        attacker: None,
    }
}

impl Executor for Guests {
    type Directory = Handle;

    fn run(&self, key: &str, grant: Option<Grant>, deadline: Instant) -> Result<String, Refusal> {
        let attacker = self.attacker.as_ref().filter(|_| key != "honest");
        attacker.unwrap_or(&self.guest).run(key, grant, deadline)
    }

    fn interrupt(&self) {
        self.guest.interrupt();
    }
}

/// A directory `notes` with the granted file and many ways out of the directory, and
/// the files outside.
pub(super) struct Ground {
    _tree: Tree,
    home: PathBuf,
    runtime: Option<Runtime>,
}

impl Ground {
    /// With these keys for the granted file, each with its limit in bytes.
    pub(super) fn new<'a>(keys: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let tree = Tree::empty();
        let home: PathBuf = tree.path("").components().collect();
        fs::create_dir(home.join("notes")).unwrap();
        fs::create_dir(home.join("notes/empty")).unwrap();
        let granted = format!("{GRANTED}{}\n", home.display());
        for (file, content) in [
            ("notes/granted.md", &*granted),
            ("notes/neighbour.md", "neighbour"),
            ("notes/sub/deep.md", "deep"),
            ("outside.md", CANARY),
            ("notes-private/secret.md", CANARY),
            ("other/other.md", CANARY),
            // An attack that lists a directory outside gets the canary as well.
            (CANARY, CANARY),
            ("notes-private/canary", CANARY),
            ("other/canary", CANARY),
        ] {
            tree.write(file, content);
        }
        for (link, target) in [
            ("absolute.md", home.join("outside.md").to_str().unwrap()),
            ("relative.md", "../outside.md"),
            ("chain.md", "relative.md"),
            ("inside.md", "granted.md"),
            ("dangling.md", "missing.md"),
            ("sub/up.md", "../../outside.md"),
            ("sub/to-private", "../../notes-private"),
            ("to-private", "../notes-private"),
            ("to-link", "to-private"),
            ("to-home", home.to_str().unwrap()),
            ("to-etc", "/etc"),
            ("to-proc", "/proc/self"),
            ("self.md", "self.md"),
            ("loop-1", "loop-2"),
            ("loop-2", "loop-1"),
            ("row/0", "../granted.md"),
        ] {
            tree.link(&format!("notes/{link}"), target);
        }
        for at in 1..=50 {
            tree.link(&format!("notes/row/{at}"), (at - 1).to_string());
        }
        fifo(&home.join("notes/fifo.md"));
        let mut map = format!(
            "roots = ['{0}/notes', '{0}/other']\n[keys]\nother-key = 'other/other.md'\n",
            home.display()
        );
        for (key, max_bytes) in keys {
            map += &format!("{key} = {{ path = 'notes/granted.md', max_bytes = {max_bytes} }}\n");
        }
        tree.write("map.toml", map);
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        Self {
            _tree: tree,
            home,
            runtime: Some(runtime),
        }
    }

    pub(super) fn loader(&self, guests: Guests, limits: Limits) -> Ready {
        let map = self.home.join("map.toml");
        let location = Location::find(Some(&map), |_| None).unwrap();
        Loader::new(LiveMap::new(location).into(), guests, limits)
    }

    /// A loader with the hostile guest.
    pub(super) fn attacked(&self, limits: Limits) -> Ready {
        let guest = guest(&Sandbox::engine().unwrap(), limits);
        self.loader(alone(guest), limits)
    }

    pub(super) fn load(&self, loader: &Ready, key: &str) -> Result<String, Refusal> {
        self.run(call(loader, key))
    }

    /// An honest call is served. On a busy machine, it may take longer than the deadline of
    /// an attack, or have too little time left for the file to settle. Between two tries the
    /// runtime runs, for it counts the threads that ended.
    #[track_caller]
    pub(super) fn is_served(&self, loader: &Ready, key: &str) {
        let began = Instant::now();
        let mut got = self.load(loader, key);
        let is_late =
            |code: &Refusal| matches!(code, Refusal::TimedOut | Refusal::Busy | Refusal::Changed);
        while got.as_ref().is_err_and(is_late) && began.elapsed() < PATIENCE {
            self.run(async { sleep(Duration::from_millis(10)).await });
            got = self.load(loader, key);
        }
        assert!(
            got.as_ref().is_ok_and(|text| text.starts_with(GRANTED)),
            "{got:?}"
        );
    }

    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.as_ref().unwrap().block_on(future)
    }

    /// All that an attack may have changed: names, types, modes, times, content.
    pub(super) fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        describe(&self.home, &mut state);
        state
    }
}

pub(super) type Ready = Loader<LiveMap, Guests>;

pub(super) async fn call(loader: &Ready, key: &str) -> Result<String, Refusal> {
    let target = Target::SentKey(key.to_owned());
    let content = loader.load(target, Caller::Nobody).await?;
    Ok(content.text)
}

fn describe(path: &Path, state: &mut BTreeMap<PathBuf, String>) {
    let found = fs::symlink_metadata(path).unwrap();
    // A link that leads elsewhere is another link.
    let content = found.is_file().then(|| fs::read(path).unwrap());
    let which = (found.ino(), found.mode(), found.nlink());
    let times = (found.mtime_nsec(), found.ctime(), found.ctime_nsec());
    state.insert(path.to_owned(), format!("{which:?} {times:?} {content:?}"));
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            describe(&entry.unwrap().path(), state);
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The test must not wait for a thread that hangs in the kernel.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Without the sandbox, the attacks would get what the sandbox refuses them. Otherwise
/// the refusals would prove nothing.
#[test]
fn without_the_sandbox_the_links_lead_to_what_is_outside() {
    let ground = Ground::new([]);
    let notes = ground.home.join("notes");
    let paths = "absolute.md relative.md chain.md sub/up.md to-private/secret.md to-private/canary \
        to-link/secret.md to-home/outside.md to-home/other/other.md ../outside.md \
        ../notes-private/secret.md";
    for path in paths.split(' ').map(|path| notes.join(path)) {
        assert_eq!(fs::read_to_string(&path).unwrap(), CANARY, "{path:?}");
    }
    for path in ["to-home/map.toml", "to-etc/passwd", "/proc/self/environ"] {
        assert!(fs::File::open(notes.join(path)).is_ok(), "{path}");
    }
}
