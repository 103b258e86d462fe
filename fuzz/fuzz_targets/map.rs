//! Any bytes as a map, then every entry of it resolved in a small tree.
//!
//! What must hold: no panic; an error names a position; a map that is read by events says
//! what the same text says as one document; whatever a map says, a grant is
//! a plain Markdown name in a directory inside the map's roots.
#![no_main]

use keyhole::{Key, Location, Map, ParseError, resolve};
use libfuzzer_sys::fuzz_target;
use std::{
    fs,
    os::{fd::AsRawFd, unix::fs::symlink},
    path::PathBuf,
    sync::LazyLock,
};
use tempfile::TempDir;

/// The map is `config/map.toml` in a home; `inside` is the only root.
struct Tree {
    home: PathBuf,
    location: Location,
    _temp: TempDir,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().canonicalize().unwrap();
    for file in [
        "inside/a.md",
        "inside/b/c.md",
        "inside/text.txt",
        "inside-not/a.md",
        "outside/a.md",
        "config/map.toml",
    ] {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    for (link, target) in [
        ("inside/link.md", "../outside/a.md"),
        ("inside/out", "../outside"),
        ("inside/loop.md", "loop.md"),
        ("inside/etc.md", "/etc/passwd"),
        ("outside/in", "../inside"),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    let location = Location::find(Some(&home.join("config/map.toml")), |name| {
        (name == "HOME").then(|| home.clone().into())
    })
    .unwrap();
    Tree {
        home,
        location,
        _temp: temp,
    }
});

fuzz_target!(|data: &[u8]| {
    check(Map::parse(data, &TREE.location), false);
    same(data);
    same(&[b"[keys]\n", data].concat());
    let confined = [b"roots = ['~/inside']\n", data].concat();
    check(Map::parse(&confined, &TREE.location), true);
});

/// Whether a text says the same in each way to read it.
fn same(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for tokens in [1, 13, 1024] {
        let (whole, by_events) = Map::parse_in_each_way(text, &TREE.location, tokens);
        for map in by_events.iter().flatten() {
            let whole = whole.as_ref().unwrap();
            assert_eq!(said(map), said(whole));
        }
    }
}

fn said(map: &Map) -> impl PartialEq + std::fmt::Debug {
    let entries = map.entries().into_iter().map(|entry| {
        let agents = entry.agents().map(<[_]>::to_vec);
        let text = [entry.expose_key(), entry.path()].map(str::to_owned);
        (text, entry.max_bytes(), agents, entry.line())
    });
    let bindings = map.bindings().into_iter().map(|(name, binding)| {
        let shown = [binding.title(), binding.description()].map(|text| text.map(str::to_owned));
        (name.to_string(), shown, binding.line())
    });
    (entries.collect::<Vec<_>>(), bindings.collect::<Vec<_>>())
}

fn check(parsed: Result<Map, ParseError>, confined: bool) {
    let map = match parsed {
        Ok(map) => map,
        Err(error) => {
            assert!(error.line > 0 && error.column > 0 && !error.message.is_empty());
            return;
        }
    };
    for entry in map.entries() {
        let key = Key::try_from(entry.expose_key()).unwrap();
        assert!(
            map.find(&key)
                .is_some_and(|found| std::ptr::eq(found.expose_key(), entry.expose_key()))
        );
        assert!(entry.max_bytes() <= keyhole::limits::MAX_MAX_BYTES);
        let Ok(grant) = resolve(&map, &entry) else {
            continue;
        };
        assert!(grant.name.len() > 3 && grant.name.ends_with(".md"));
        assert!(!grant.name.contains(['/', '\0']));
        assert_eq!(grant.max_bytes, entry.max_bytes());
        if confined {
            let descriptor = format!("/proc/self/fd/{}", grant.directory.as_raw_fd());
            let directory = fs::read_link(descriptor).unwrap();
            assert!(directory.starts_with(TREE.home.join("inside")));
        }
    }
}
