//! For tests: where the map of a tree is.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{LiveMap, Location};
use keyhole_tree::Tree;

/// The place of a tree's map, for a user without a home.
pub(crate) fn location(tree: &Tree) -> Location {
    Location::find(Some(&tree.map()), |_| None).unwrap()
}

pub(crate) fn live(tree: &Tree) -> LiveMap {
    LiveMap::new(location(tree))
}
