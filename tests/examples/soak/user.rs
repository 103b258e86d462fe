use keyhole_tests::World;
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Documents that do not change: key and length in bytes.
pub(crate) const DOCUMENTS: [(&str, usize); 4] = [
    ("k-7f3a9c55aa01-empty", 0),
    ("k-7f3a9c55aa01-small", 1000),
    ("k-7f3a9c55aa01-middle", 60_000),
    ("k-7f3a9c55aa01-large", 1_000_000),
];

/// A document that is replaced continuously by one of these.
pub(crate) const SAVED: &str = "k-7f3a9c55aa01-saved";
pub(crate) const VERSIONS: [&str; 2] = ["# One\n", "# Another, and longer\n"];

/// Keys whose files are refused, and how.
pub(crate) const REFUSED: [(&str, &str); 6] = [
    ("k-7f3a9c55aa01-gone", "not-found"),
    ("k-7f3a9c55aa01-long", "too-large"),
    ("k-7f3a9c55aa01-bytes", "not-utf8"),
    ("k-7f3a9c55aa01-folder", "not-a-file"),
    ("k-7f3a9c55aa01-text", "not-markdown"),
    ("k-7f3a9c55aa01-away", "outside-root"),
];

/// A key that is not in the map.
pub(crate) const UNKNOWN: &str = "k-7f3a9c55aa01-unknown";

/// How often the user saves. The server then reads the map again, which is part of the
/// load: each time it waits 20 ms for the map to be at rest.
const SAVES: Duration = Duration::from_millis(250);

/// The text of a document, which no other document contains.
pub(crate) fn text(key: &str, length: usize) -> String {
    key.chars().cycle().take(length).collect()
}

pub(crate) fn world() -> World {
    let mut world = World::new()
        .file("notes/long.md", "x".repeat(101))
        .file("notes/bytes.md", b"\xff\xfe")
        .file("notes/text.txt", "text")
        .file("elsewhere/away.md", "text")
        .directory("notes/folder.md")
        .file("notes/saved.md", VERSIONS[0])
        .map(map());
    for (key, length) in DOCUMENTS {
        world = world.file(&file(key), text(key, length));
    }
    world
}

fn file(key: &str) -> String {
    format!("notes/{}.md", key.trim_start_matches("k-7f3a9c55aa01-"))
}

fn map() -> String {
    let mut map = "roots = ['~/notes']\n[keys]\n".to_owned();
    let documents = DOCUMENTS.map(|(key, _)| key);
    for key in documents
        .iter()
        .chain(&[SAVED, "k-7f3a9c55aa01-gone", "k-7f3a9c55aa01-bytes"])
    {
        map += &format!("{key} = '~/{}'\n", file(key));
    }
    map + "k-7f3a9c55aa01-folder = '~/notes/folder.md'\n\
           k-7f3a9c55aa01-text = '~/notes/text.txt'\n\
           k-7f3a9c55aa01-away = '~/elsewhere/away.md'\n\
           k-7f3a9c55aa01-long = { path = '~/notes/long.md', max_bytes = 100 }\n"
}

/// Saves a document and the map again and again, by renaming.
pub(crate) fn saves_until(world: &World, over: &AtomicBool) {
    let mut version = 0;
    while !over.load(Ordering::Relaxed) {
        version = 1 - version;
        world.write("notes/new", VERSIONS[version]);
        fs::rename(world.path("notes/new"), world.path("notes/saved.md")).unwrap();
        world.replace_map(map());
        thread::park_timeout(SAVES);
    }
}
