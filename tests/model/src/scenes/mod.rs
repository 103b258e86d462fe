//! The scenes. Each is small: a few names that the attacker or the editor can touch,
//! and what one call looks at. What the attacker made before the call lies there
//! already.

mod breaks;
mod rest;
mod shared;
mod trust;

use crate::scene::Scene;

/// Where a binding's key is kept, in all scenes with one.
pub const KEY_FILE: &str = "/data/keys/b.key";
/// Where the map is, unless a scene is about that.
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
