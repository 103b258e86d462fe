//! Breaks of earlier versions. Each scene has what the attacker had, and nothing about what
//! the attacker did.

use super::{MAP, OLD, map, map_with_root};
use crate::{
    disk::{JANE, MALLORY, ROOT},
    moves::{FORGED_MAP, FORGED_TEXT, all as moves},
    scene::Scene,
};
use keyhole_core::Refusal;

pub(super) fn all() -> Vec<Scene> {
    vec![root_name(), map_directory()]
}

/// The attacker may write to the directory above a root of the map.
fn root_name() -> Scene {
    let mut scene = Scene::new("root-name", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o777);
    disk.directory("/srv/root", JANE, 0o755);
    disk.file("/srv/root/a.md", JANE, 0o644, "note", "a note");
    disk.directory("/srv/his", MALLORY, 0o755);
    disk.link("/srv/his/a.md", MALLORY, "/home/jane/diary.md");
    disk.link("/srv/home", MALLORY, "/home/jane");
    map_with_root(disk, "/srv/root", "/srv/root/a.md");
    let names = ["/srv/root", "/srv/his", "/srv/home"];
    scene.moves = moves(&names, &["/home/jane"], FORGED_TEXT);
    scene.refused(Refusal::Untrusted)
}

/// The attacker owns a directory above the map's.
fn map_directory() -> Scene {
    let mut scene = Scene::new("map-directory", "/data/config/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/data", MALLORY, 0o755);
    disk.directory("/data/config", JANE, 0o755);
    map(disk, scene.map, "[keys]\n");
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/backup", JANE, 0o755);
    map(disk, "/srv/backup/map.toml", OLD);
    scene.asks = vec!["k-old"];
    scene.grants = |_, _| &[];
    let names = ["/data/config", "/data/aside"];
    scene.moves = moves(&names, &["/srv/backup"], FORGED_MAP);
    scene.depth = 3;
    scene.without_map()
}
