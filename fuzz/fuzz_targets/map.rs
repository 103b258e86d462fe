//! Any bytes as a map, then every entry of it resolved in a small tree.
//!
//! What must hold: no panic; an error names a line; whatever a map says, a grant is a plain
//! Markdown name in a directory inside the map's roots.
#![no_main]

use keyhole_core::{Location, Map, MapMistake, limits::MAX_MAX_BYTES, locate};
use keyhole_walk::{System, Walker};
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
    let confined = [b"roots = ['~/inside']\n", data].concat();
    check(Map::parse(&confined, &TREE.location), true);
});

fn check(parsed: Result<Map, MapMistake>, confined: bool) {
    let map = match parsed {
        Ok(map) => map,
        Err(mistake) => {
            assert!(mistake.line() > 0 && !mistake.message.is_empty());
            return;
        }
    };
    let walker = Walker::new(System);
    for (key, entry) in map.entries() {
        assert!(
            map.find(key)
                .is_some_and(|found| std::ptr::eq(found, entry))
        );
        assert!(entry.max_bytes() <= MAX_MAX_BYTES);
        let Ok(grant) = locate(&walker, &map, entry) else {
            continue;
        };
        assert!(grant.name.len() > 3 && grant.name.ends_with(".md"));
        assert!(!grant.name.contains(['/', '\0']));
        assert_eq!(grant.max_bytes, entry.max_bytes());
        if confined {
            let directory = grant.directory.into_file().unwrap();
            let descriptor = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let directory = fs::read_link(descriptor).unwrap();
            assert!(directory.starts_with(TREE.home.join("inside")));
        }
    }
}
