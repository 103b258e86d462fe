//! The scenes. Each is small: a few names that the attacker or the editor can touch,
//! and what one call looks at. What the attacker made before the call is there
//! already.

mod breaks;
mod rest;
mod shared;
mod trust;

use crate::{
    disk::{Disk, JANE},
    scene::{OTHER_TEXT, Scene},
};
use std::sync::Arc;

/// The place of the map, unless a scene is about that place.
pub(crate) const MAP: &str = "/home/jane/map.toml";

/// All scenes in which every promise is kept.
pub fn all() -> Vec<Arc<Scene>> {
    let all = [breaks::all(), shared::all(), trust::all(), rest::all()];
    all.into_iter().flatten().map(Arc::new).collect()
}

/// The scenes about what is not promised: in each, a mixture of two versions is served.
pub fn not_promised() -> Vec<Arc<Scene>> {
    let all = rest::not_promised();
    all.into_iter().map(Arc::new).collect()
}

/// The scene of this name.
pub fn named(name: &str) -> Arc<Scene> {
    let mut all = all().into_iter();
    all.find(|scene| scene.name == name).unwrap()
}

/// The lines of a map that grants the note, and of an old one that grants the diary.
const GRANTS: &str = "[keys]\n\"k\" = \"~/note.md\"\n";
const OLD: &str = "[keys]\n\"k-old\" = \"/home/jane/diary.md\"\n";

/// A map with these lines, and the other document's.
fn map(disk: &mut Disk, path: &str, text: &str) {
    let text = format!("{text}\"k-other\" = \"/home/jane/other.md\"\n");
    disk.file(path, JANE, 0o600, "map", &text);
}

/// A map that has this root, and one with the other document.
fn map_with_root(disk: &mut Disk, root: &str, path: &str) {
    disk.directory("/home/jane/sub", JANE, 0o700);
    disk.file("/home/jane/sub/other.md", JANE, 0o600, "other", OTHER_TEXT);
    let text = format!(
        "roots = [\"{root}\", \"~/sub\"]\n[keys]\n\"k\" = \"{path}\"\n\"k-other\" = \"~/sub/other.md\"\n"
    );
    disk.file(MAP, JANE, 0o600, "map", &text);
}
