//! For tests: the map of a tree.
#![allow(clippy::unwrap_used, reason = "tests")]

use keyhole_core::{LiveMap, Location};
use keyhole_tree::Tree;
use std::sync::Arc;

/// It is named, and its user has no home.
pub(crate) fn live(tree: &Tree) -> Arc<LiveMap> {
    let location = Location::find(Some(&tree.map()), |_| None);
    Arc::new(LiveMap::new(location.unwrap()))
}
