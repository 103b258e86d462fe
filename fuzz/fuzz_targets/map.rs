//! Any bytes as a map.
//!
//! What must hold: no panic; a mistake names a line, and says something; each key finds its own
//! entry, with a limit that a map may have. `core::map::resolve` follows the paths of entries, in
//! random trees.
#![no_main]

use keyhole_core::{Location, Map, limits::MAX_MAX_BYTES};
use libfuzzer_sys::fuzz_target;
use std::{path::Path, sync::LazyLock};

static PLACE: LazyLock<Location> = LazyLock::new(|| {
    Location::find(Some(Path::new("/home/jane/map.toml")), |name| {
        (name == "HOME").then(|| "/home/jane".into())
    })
    .unwrap()
});

fuzz_target!(|data: &[u8]| match Map::parse(data, &PLACE) {
    Err(mistake) => assert!(mistake.line > 0 && !mistake.message.is_empty()),
    Ok(map) => {
        for (key, entry) in map.entries() {
            let found = map.find(key);
            assert!(found.is_some_and(|found| std::ptr::eq(found, entry)));
            assert!(entry.max_bytes <= MAX_MAX_BYTES);
        }
    }
});
