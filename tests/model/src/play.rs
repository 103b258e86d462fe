//! One run of a scene: call after call, and after each the check that all promises were
//! kept.

use crate::{
    explore::Script,
    files::{Files, Handle},
    guest::Guest,
    scene::{OTHER_KEY, OTHER_TEXT, Scene},
    world::{Chooser, World},
};
use keyhole_core::{
    Caller, Entry, Grant, LiveMap, Location, Map, MapError, Maps, Refusal, Target, call,
};
use std::{
    cell::RefCell,
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// The program that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The one that ships.
    Keyhole,
    /// A bad example: the same, but everything seems to be the user's own.
    Trusting,
    /// A bad example: the same, but nothing seems to have been changed lately.
    Hasty,
    /// A bad example: the same, but what is opened again in a call seems so.
    SettlingOnce,
}

/// The model's time is not this machine's, which may be busy.
const LONG: Duration = Duration::from_secs(3600);

/// The outcome of one call: a text, or the reason for none.
pub type Answer = Result<String, Refusal>;

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one, and how.
    pub what: String,
    /// The moves that were made, each with the step that it came before.
    pub(crate) script: Vec<(usize, usize)>,
}

/// The place of the scene's map, in its user's home.
fn location(scene: &Scene) -> Location {
    Location::find(Some(Path::new(scene.map)), |name| {
        (name == "HOME").then(|| "/home/jane".into())
    })
    .unwrap()
}

/// The host's maps. They tell the world which map the host believes.
struct Watched {
    live: LiveMap<Files>,
    files: Files,
}

impl Maps for Watched {
    type Directory = Handle;

    fn map_now(&self, _: Instant) -> Result<Arc<Map>, Refusal> {
        // As `LiveMap::map_now` does, which forgets the error.
        let found = self.live.current();
        let mut world = self.files.world();
        if !world.is_over() && !is_whole(&world, &found) {
            let what = "the host believed a map that its owner never saved so";
            world.trouble = Some(what.into());
        }
        found.map_err(|error| error.code())
    }

    fn resolve(
        &self,
        map: &Map,
        entry: &Entry,
        deadline: Instant,
    ) -> Result<Grant<Handle>, Refusal> {
        self.live.resolve(map, entry, deadline)
    }
}

/// Whether this map, or the refusal to parse it, is that of a text which the owner of the
/// map has saved.
fn is_whole(world: &World, found: &Result<Arc<Map>, MapError>) -> bool {
    let found = match found {
        Ok(map) => Ok(entries(map)),
        Err(MapError::Parse(_, source)) => Err(source.to_string()),
        Err(_) => return true,
    };
    let mut saved = world.versions.iter().filter(|(_, label)| **label == "map");
    saved.any(|(text, _)| parsed(text) == found)
}

/// All that a map grants, or why it grants nothing.
type Parsed = Result<Vec<(String, String, u64)>, String>;

fn entries(map: &Map) -> Vec<(String, String, u64)> {
    let entries = map.entries().into_iter();
    let said = entries.map(|(key, entry)| {
        let path = entry.path.to_string();
        (key.expose().to_owned(), path, entry.max_bytes)
    });
    said.collect()
}

/// What the text of a map says. Each text is parsed once, because that takes longer than a
/// whole run.
fn parsed(text: &Arc<[u8]>) -> Parsed {
    thread_local! {
        static KNOWN: RefCell<HashMap<Arc<[u8]>, Parsed>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let parse = || {
            let place = Location::find(Some(Path::new("/m")), |_| Some("/home".into()));
            let map = Map::parse(text, &place.unwrap());
            map.map(|map| entries(&map))
                .map_err(|error| error.to_string())
        };
        known.entry(text.clone()).or_insert_with(parse).clone()
    })
}

/// Plays all calls of a scene, with `chooser` between the steps. Returns the broken
/// promise, if any, and the file system at the end.
pub(crate) fn play(
    scene: &Arc<Scene>,
    program: Program,
    chooser: Arc<Mutex<dyn Chooser>>,
    tell: bool,
) -> (Option<Violation>, Files) {
    let mut world = World::new(scene, program, chooser);
    world.story = tell.then(Vec::new);
    let files = Files::new(world);
    let violation = run(scene, program, &files).map(|what| Violation {
        what,
        script: files.world().script.clone(),
    });
    (violation, files)
}

fn run(scene: &Scene, program: Program, files: &Files) -> Option<String> {
    let maps = Watched {
        live: LiveMap::over(files.clone(), location(scene)),
        files: files.clone(),
    };
    let guest = Guest(files.clone());
    let ask = |number: usize, key: &str| {
        files.world().begin(number);
        let target = Target::SentKey(key.to_owned());
        let answer = call(
            target,
            &Caller::Nobody,
            Instant::now() + LONG,
            &maps,
            &guest,
        );
        let mut world = files.world();
        world.tell(|_| format!("  answer: {answer:?}"));
        let broken = judge(&world, &answer);
        let is_over = broken.is_some() || world.is_over();
        (answer, is_over.then_some(broken))
    };
    for (call, key) in scene.asks.iter().enumerate() {
        let (answer, over) = ask(call, key);
        let mut world = files.world();
        if !world.cut {
            world.answers.push(answer.clone());
        }
        if let Some(broken) = over {
            return broken;
        }
        if call == 0 && world.script.is_empty() && program == Program::Keyhole {
            let label = |text: &String| world.versions.get(text.as_bytes()).copied();
            let found = answer.as_ref().map(|text| label(text).unwrap());
            assert_eq!(found.map_err(|code| *code), scene.calm, "{}", scene.name);
        }
    }
    if !scene.other {
        return None;
    }
    // Everybody else has gone.
    files.world().calm_down();
    match ask(scene.asks.len(), OTHER_KEY) {
        (_, Some(broken)) => broken,
        (Ok(text), None) if text == OTHER_TEXT => None,
        (answer, None) => Some(format!(
            "the other key is not served afterwards: {answer:?}"
        )),
    }
}

/// The promise that was not kept, if any.
fn judge(world: &World, answer: &Answer) -> Option<String> {
    if world.trouble.is_some() || world.cut {
        return world.trouble.clone();
    }
    let text = answer.as_ref().ok()?;
    match world.versions.get(text.as_bytes()) {
        None => Some(format!("what was served was never saved so: {text:?}")),
        Some(label) if !world.granted.contains(label) => {
            Some(format!("the map does not grant this: {text:?} ({label})"))
        }
        Some(_) => None,
    }
}

/// The run of a broken promise in words.
pub fn story(scene: &Arc<Scene>, program: Program, violation: &Violation) -> String {
    let script = Script::new(violation.script.clone());
    let (_, files) = play(scene, program, Arc::new(Mutex::new(script)), true);
    let story = files.world().story.take().unwrap_or_default().join("\n");
    let (name, what) = (&scene.name, &violation.what);
    format!("scene {name}, {program:?}:\n{story}\nNOT KEPT: {what}")
}
