//! Breaks of earlier versions. Each scene has what the attacker had, and nothing about what
//! the attacker did.

use super::{MAP, OLD, map, map_with_root};
use crate::{
    disk::{JANE, MALLORY, Mounted, ROOT},
    moves::{FORGED_MAP, FORGED_TEXT, MALLORYS, Move, all as moves},
    scene::{Ask, Scene},
};
use keyhole_core::Refusal;

pub(super) fn all() -> Vec<Scene> {
    vec![
        root_name(),
        map_directory(),
        map_from_procfs(),
        binding(),
        own_directories(),
    ]
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
    scene.moves = moves(
        &["/srv/root", "/srv/his", "/srv/home"],
        &["/home/jane"],
        FORGED_TEXT,
    );
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
    scene.asks = vec![Ask::Key("k-old")];
    scene.grants = |_, _| &[];
    scene.moves = moves(
        &["/data/config", "/data/aside"],
        &["/srv/backup"],
        FORGED_MAP,
    );
    scene.depth = 3;
    scene.without_map()
}

/// The same, and a file in procfs has the text that the attacker wants.
fn map_from_procfs() -> Scene {
    let mut scene = Scene::new("map-from-procfs", "/data/config/map.toml");
    let disk = &mut scene.disk;
    disk.mount("/proc", Mounted::Kernel);
    disk.directory("/proc/7", ROOT, 0o755);
    disk.file("/proc/7/comm", ROOT, 0o644, MALLORYS, FORGED_MAP);
    disk.directory("/data", MALLORY, 0o755);
    disk.directory("/data/config", JANE, 0o755);
    map(disk, scene.map, "[keys]\n");
    disk.directory("/data/his", MALLORY, 0o755);
    disk.link("/data/his/map.toml", MALLORY, "/proc/7/comm");
    scene.grants = |_, _| &[];
    scene.moves = moves(&["/data/config", "/data/his"], &[], FORGED_MAP);
    scene.depth = 3;
    scene.without_map()
}

/// The attacker owns a directory above a binding's file.
fn binding() -> Scene {
    let mut scene = Scene::new("binding", MAP);
    let disk = &mut scene.disk;
    disk.directory("/data", MALLORY, 0o755);
    disk.directory("/data/notes", JANE, 0o755);
    disk.file("/data/notes/b.md", JANE, 0o600, "note", "a note");
    disk.directory("/data/his", MALLORY, 0o755);
    disk.link("/data/his/b.md", MALLORY, "/home/jane/diary.md");
    let text = "[bindings.b]\npath = \"/data/notes/b.md\"\n[keys]\n";
    map(disk, MAP, text);
    scene.asks = vec![Ask::Bound("b")];
    scene.moves = moves(&["/data/notes", "/data/his"], &["/home/jane"], FORGED_TEXT);
    scene.depth = 3;
    scene.refused(Refusal::Untrusted)
}

/// The attacker may rename two of the user's own directories. A file of the mapped name is
/// in each: in one of them it is a link to a private file, in another the private file.
fn own_directories() -> Scene {
    let mut scene = Scene::new("own-directories", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o777);
    for name in ["/srv/notes", "/srv/links", "/srv/private"] {
        disk.directory(name, JANE, 0o755);
    }
    disk.file("/srv/notes/a.md", JANE, 0o644, "note", "a note");
    disk.link("/srv/links/a.md", JANE, "/home/jane/diary.md");
    disk.file("/srv/private/a.md", JANE, 0o600, "diary", "private");
    map(disk, MAP, "[keys]\n\"k\" = \"/srv/notes/a.md\"\n");
    scene.moves = vec![
        Move::Swap("/srv/links", "/srv/notes"),
        Move::Swap("/srv/notes", "/srv/private"),
        Move::Rename("/srv/notes", "/srv/aside"),
        Move::Rename("/srv/links", "/srv/notes"),
    ];
    scene.refused(Refusal::Untrusted)
}
