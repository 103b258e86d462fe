//! The maps that the user writes, and what they grant.

use crate::{rng::Rng, world::DOCUMENTS};
use keyhole::Location;
use keyhole_model::{disk::Label, moves::MALLORYS};
use std::{
    collections::HashSet,
    path::Path,
    sync::{LazyLock, Mutex},
};

/// Where the map is.
pub const PATH: &str = "/home/jane/.config/keyhole/context-map.toml";
/// The keys that it may have. The last two could be guessed.
pub const KEYS: [&str; 7] = [
    "k-2c1f8a96d0e34b57",
    "k-91c0d2e4f6a8b0c1",
    "k-7d3e5f1029384756",
    "k-aa55bb66cc77dd88",
    "k-0f1e2d3c4b5a6978",
    "abc12",
    "k9",
];
/// The agent that a server may be for, and another.
pub const AGENTS: [&str; 2] = ["acme:reviewer", "acme:other"];
/// The binding of a server that is bound.
pub const BINDING: &str = "one";

/// Keeps a text for as long as the program runs: there are not many.
fn intern(text: String) -> &'static str {
    static ALL: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap();
    if let Some(known) = all.get(&*text) {
        return known;
    }
    let text: &'static str = Box::leak(text.into_boxed_str());
    all.insert(text);
    text
}

/// The text of a document in one of its versions. No two are the same, or begin alike.
#[must_use]
pub fn text(document: usize, version: usize) -> &'static str {
    let label = DOCUMENTS[document].0;
    let version = version % 64;
    let line = format!("{version} of {label}; ");
    intern(line.repeat(3 + version % 5))
}

/// The map as the user wants it.
#[derive(Clone, Debug)]
pub struct Map {
    /// For each key, its document and the agents.
    entries: [Option<(usize, Option<usize>)>; KEYS.len()],
    roots: bool,
    broken: bool,
}

impl Map {
    /// A random map.
    pub fn new(rng: &mut Rng) -> Self {
        let mut map = Self {
            entries: [None; KEYS.len()],
            roots: rng.once_in(2),
            broken: false,
        };
        for index in 0..KEYS.len() {
            map.entries[index] = (index < 3 || rng.once_in(2)).then(|| {
                (
                    index % DOCUMENTS.len(),
                    rng.once_in(6).then(|| rng.below(2)),
                )
            });
        }
        map
    }

    /// Makes one random change.
    pub fn edit(&mut self, rng: &mut Rng) {
        let index = rng.below(KEYS.len());
        match rng.below(10) {
            0 => self.roots = !self.roots,
            1 => self.broken = true,
            2 => self.entries[index] = Some((index % DOCUMENTS.len(), Some(rng.below(2)))),
            3..6 => self.entries[index] = None,
            _ => self.entries[index] = Some((rng.below(DOCUMENTS.len()), None)),
        }
        if !matches!(self, Self { broken: true, .. }) || rng.once_in(2) {
            self.broken = false;
        }
    }

    /// Maps the first key to the first document.
    pub fn fix(&mut self) {
        self.broken = false;
        self.entries[0] = Some((0, None));
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &'static str {
        let mut text = String::new();
        if self.roots {
            text += "roots = ['/home/jane/notes', '~/real', '/srv/shared']\n";
        }
        text += "[keys]\n";
        for (key, entry) in KEYS.iter().zip(&self.entries) {
            let Some((document, agent)) = entry else {
                continue;
            };
            let path = DOCUMENTS[*document].1;
            text += &match agent {
                None => format!("'{key}' = '{path}'\n"),
                Some(agent) => {
                    let agent = AGENTS[*agent];
                    format!("'{key}' = {{ path = '{path}', agents = ['{agent}'] }}\n")
                }
            };
        }
        if self.broken {
            text += "'k-half = \n";
        }
        text += &format!("[bindings.{BINDING}]\nkey = '{}'\n", KEYS[0]);
        intern(text)
    }
}

/// The place where the host looks for it.
#[must_use]
pub fn location() -> Location {
    let found = Location::find(Some(Path::new(PATH)), |name| {
        (name == "HOME").then(|| "/home/jane".into())
    });
    found.unwrap()
}

/// Whose texts this map grants to this key.
#[must_use]
pub fn granted(map: &[u8], key: &str, agent: Option<&str>) -> Vec<Label> {
    let Ok(map) = keyhole::Map::parse(map, &location()) else {
        return Vec::new();
    };
    let agent = agent.map(|agent| agent.try_into().unwrap());
    let entry = keyhole::Key::try_from(key)
        .ok()
        .and_then(|key| Some(map.find_for(&key, agent.as_ref())?.path().to_owned()));
    // A map made of two halves may have two slashes where they meet.
    let document = entry.and_then(|path| {
        DOCUMENTS
            .iter()
            .find(|known| Path::new(known.1) == Path::new(&path))
    });
    match document {
        None => Vec::new(),
        // The other user may write there: the attacker's text, or a file of the user's
        // own that is there.
        Some((_, path, _)) if path.starts_with("/srv/shared") => vec!["d", "e", MALLORYS],
        Some((label, ..)) => vec![label],
    }
}
