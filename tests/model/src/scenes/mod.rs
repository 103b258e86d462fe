//! The scenes. Each is small: a few names that the attacker or the editor can touch,
//! and what one call looks at. What the attacker made before the call is there
//! already.

mod breaks;
mod rest;
mod shared;
mod trust;

use crate::scene::Scene;

/// The file of a binding's key, in all scenes with one.
pub const KEY_FILE: &str = "/data/keys/b.key";
/// The place of the map, unless a scene is about that place.
pub const MAP: &str = "/home/jane/map.toml";

/// All scenes.
#[must_use]
pub fn all() -> Vec<Scene> {
    [breaks::all(), shared::all(), trust::all(), rest::all()]
        .into_iter()
        .flatten()
        .collect()
}

/// The scene of this name.
#[must_use]
pub fn named(name: &str) -> Option<Scene> {
    all().into_iter().find(|scene| scene.name == name)
}
