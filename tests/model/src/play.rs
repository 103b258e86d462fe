//! One run of a scene: call after call, and after each the check that all promises were
//! kept.

use crate::{
    disk::{Disk, Label},
    explore::Script,
    files::Files,
    guest, old,
    scene::{Ask, Calm, FORGED_KEY, OTHER_KEY, OTHER_TEXT, Scene},
    world::{Chooser, World},
};
use keyhole::{Key, LiveMap, Location, Map, MapError, locate, walk::Walker};
use std::{cell::RefCell, path::Path, rc::Rc, sync::Arc};

/// The code that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The program's own.
    Keyhole,
    /// Map and resolution as they were before the walker, kept as the bad example.
    Old,
}

/// The outcome of one call: a text, or the reason for none.
pub type Answer = Result<String, String>;

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one, and how.
    pub what: String,
    /// How to play it again.
    pub script: Vec<(usize, usize)>,
}

/// The place of the scene's map, in its user's home.
pub(crate) fn location(scene: &Scene) -> Location {
    Location::find(Some(Path::new(scene.map)), |name| {
        (name == "HOME").then(|| "/home/jane".into())
    })
    .unwrap()
}

enum Host {
    Keyhole(LiveMap<Files>),
    Old(old::Live),
}

impl Host {
    fn ask(&mut self, files: &Files, ask: Ask) -> Answer {
        match self {
            Self::Keyhole(live) => keyhole(files, live, ask),
            Self::Old(live) => live.ask(files, ask),
        }
    }
}

/// The way of a call through the program, from the map to the guest.
fn keyhole(files: &Files, live: &LiveMap<Files>, ask: Ask) -> Answer {
    let (map, trail) = match live.current_and_trail() {
        Ok((map, trail)) => (Ok(map), trail),
        Err(error) => (Err(error), None),
    };
    whole(files, &map)?;
    let map = map.map_err(|error| format!("{error:?}"))?;
    let walker = Walker::new(files.clone());
    trusted(map.find(&Key::try_from(FORGED_KEY).unwrap()).is_none())?;
    let key = match ask {
        Ask::Key(key) => Key::try_from(key).unwrap(),
        Ask::Bound(name, own) => {
            let binding = map.binding(name).ok_or("no such binding")?;
            let key = binding.key_in(&walker, &map);
            let key = key.map_err(|error| format!("{error:?}"))?;
            trusted(key.expose() == own)?;
            key
        }
    };
    let entry = map.find_for(&key, None).ok_or("unknown-key")?;
    let (directory, name) =
        locate(&walker, &map, trail.as_ref(), &entry).map_err(|code| code.as_str().to_owned())?;
    guest::load(files, directory, &name, entry.max_bytes())
}

/// Whether this map, or the refusal to parse it, comes from one saved version.
fn whole(files: &Files, found: &Result<Arc<Map>, MapError>) -> Result<(), String> {
    let world = files.0.borrow();
    let location = location(&world.scene);
    let mut maps = world
        .versions
        .keys()
        .map(|text| Map::parse(text, &location));
    let is_whole = match found {
        _ if world.is_over() => true,
        Ok(found) => maps.any(|map| map.is_ok_and(|map| entries(&map) == entries(found))),
        Err(MapError::Parse { source, .. }) => {
            maps.any(|map| map.is_err_and(|error| error.to_string() == source.to_string()))
        }
        Err(_) => true,
    };
    match is_whole {
        true => Ok(()),
        false => Err(format!(
            "{FORGED}the host believed a map that was never saved so"
        )),
    }
}

/// All that a map grants.
fn entries(map: &Map) -> Vec<(&str, &str, u64)> {
    let entries = map.entries().into_iter();
    let all = entries.map(|entry| (entry.expose_key(), entry.path(), entry.max_bytes()));
    all.collect()
}

/// The first word of the refusal in a run in which the host believed what it must not.
pub(crate) const FORGED: &str = "FORGED: ";

pub(crate) fn trusted(is: bool) -> Result<(), String> {
    match is {
        true => Ok(()),
        false => Err(format!(
            "{FORGED}the host believed what another could have written"
        )),
    }
}

/// Plays all calls of a scene, with `chooser` between the steps. Returns the broken
/// promise, if any, and the world at the end.
pub fn play(
    scene: &Rc<Scene>,
    code: Code,
    chooser: Rc<RefCell<dyn Chooser>>,
    tell: bool,
) -> (Option<Violation>, Rc<RefCell<World>>) {
    let mut world = World::new(scene, chooser);
    world.story = tell.then(Vec::new);
    let files = Files(Rc::new(RefCell::new(world)));
    let violation = run(scene, code, &files);
    let world = files.0;
    let violation = violation.map(|what| Violation {
        what,
        script: world.borrow().script.clone(),
    });
    (violation, world)
}

fn run(scene: &Scene, code: Code, files: &Files) -> Option<String> {
    let mut host = match code {
        Code::Keyhole => Host::Keyhole(LiveMap::over(files.clone(), location(scene))),
        Code::Old => Host::Old(old::Live::default()),
    };
    for (call, ask) in scene.asks.iter().enumerate() {
        files.0.borrow_mut().begin(call);
        if files.0.borrow().cut {
            return None;
        }
        let answer = host.ask(files, *ask);
        let mut world = files.0.borrow_mut();
        world.tell(|_| format!("  answer: {answer:?}"));
        if !world.cut {
            world.answers.push(answer.clone());
        }
        if let Some(what) = judge(&world, &answer) {
            return Some(what);
        }
        if world.is_over() {
            return None;
        }
        if call == 0 && world.script.is_empty() && code == Code::Keyhole {
            let found = calm(&world, &answer);
            assert_eq!(found, Some(scene.calm), "{}: {answer:?}", scene.name);
        }
    }
    // Afterwards, when everybody else has gone.
    files.0.borrow_mut().calm_down();
    if scene.other {
        files.0.borrow_mut().begin(scene.asks.len());
        let answer = host.ask(files, Ask::Key(OTHER_KEY));
        if answer.as_deref() != Ok(OTHER_TEXT) {
            return Some(format!(
                "the other key is not served afterwards: {answer:?}"
            ));
        }
    }
    None
}

/// The promise that was not kept, if any.
fn judge(world: &World, answer: &Answer) -> Option<String> {
    if let Some(trouble) = &world.trouble {
        return Some(trouble.clone());
    }
    if world.cut {
        return None;
    }
    match answer {
        Err(why) => why.strip_prefix(FORGED).map(str::to_owned),
        Ok(text) => match world.versions.get(text.as_bytes()) {
            None => Some(format!("what was served was never saved so: {text:?}")),
            Some(label) if !world.granted.contains(label) => {
                Some(format!("the map does not grant this: {text:?} ({label})"))
            }
            Some(_) => None,
        },
    }
}

fn calm(world: &World, answer: &Answer) -> Option<Calm> {
    match answer {
        Err(_) => Some(Calm::Refused),
        Ok(text) => label_of(&world.disk, text).map(Calm::Served),
    }
}

fn label_of(disk: &Disk, text: &str) -> Option<Label> {
    let mut files = disk.nodes.iter().filter_map(|inode| inode.file());
    let found = files.find(|file| *file.bytes == *text.as_bytes());
    found.map(|file| file.label)
}

/// The run of a script in words.
#[must_use]
pub fn story(scene: &Rc<Scene>, code: Code, script: &[(usize, usize)]) -> String {
    let chooser = Rc::new(RefCell::new(Script::new(script)));
    let (violation, world) = play(scene, code, chooser, true);
    let world = world.borrow();
    let mut lines = vec![format!("scene {}, {code:?}:", scene.name)];
    lines.extend(world.story.iter().flatten().cloned());
    lines.push(match violation {
        Some(violation) => format!("NOT KEPT: {}", violation.what),
        None => "all was kept".into(),
    });
    lines.push(format!(
        "to play it again: ./x model --replay {} {code:?} '{}'",
        scene.name,
        crate::story::written(script)
    ));
    lines.join("\n")
}
