//! Seven breaks of the program before the walker. Each scene has what the attacker had,
//! and nothing about what the attacker did.

use super::{KEY_FILE, MAP};
use crate::{
    disk::{Disk, JANE, MALLORY, Mounted, ROOT, Who},
    moves::{FORGED_MAP, FORGED_TEXT, MALLORYS, all as moves},
    save::Save,
    scene::{Ask, Calm, Scene},
};

pub(super) fn all() -> Vec<Scene> {
    vec![
        root_name(),
        map_directory(),
        map_from_procfs(),
        key_file(),
        fifo(),
        lease(),
        save_in_place(),
        save_over(),
    ]
}

/// A map with these lines, and the other document's.
pub(super) fn map(disk: &mut Disk, path: &str, who: Who, text: &str) {
    let text = format!("{text}\"k-other\" = \"/home/jane/other.md\"\n");
    disk.file(path, who, 0o600, "map", &text);
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
    let text = "roots = [\"/srv/root\", \"/home/jane/sub\"]\n[keys]\n\"k\" = \"/srv/root/a.md\"\n";
    disk.directory("/home/jane/sub", JANE, 0o700);
    disk.file(
        "/home/jane/sub/other.md",
        JANE,
        0o600,
        "other",
        crate::scene::OTHER_TEXT,
    );
    let text = format!("{text}\"k-other\" = \"/home/jane/sub/other.md\"\n");
    disk.file(MAP, JANE, 0o600, "map", &text);
    scene.roots = &["/srv/root", "/home/jane/sub"];
    scene.moves = moves(
        &["/srv/root", "/srv/his", "/srv/home"],
        &["/home/jane"],
        FORGED_TEXT,
    );
    // The host serves nothing in it: others could put another directory there.
    scene.calm = Calm::Refused;
    scene
}

/// The attacker owns a directory above the map's.
fn map_directory() -> Scene {
    let mut scene = Scene::new("map-directory", "/data/config/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/data", MALLORY, 0o755);
    disk.directory("/data/config", JANE, 0o755);
    map(disk, "/data/config/map.toml", JANE, "[keys]\n");
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/backup", JANE, 0o755);
    map(
        disk,
        "/srv/backup/map.toml",
        JANE,
        "[keys]\n\"k-old\" = \"/home/jane/diary.md\"\n",
    );
    scene.asks = vec![Ask::Key("k-old")];
    scene.grants = |_, _| &[];
    scene.moves = moves(
        &["/data/config", "/data/aside"],
        &["/srv/backup"],
        FORGED_MAP,
    );
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
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
    map(disk, "/data/config/map.toml", JANE, "[keys]\n");
    disk.directory("/data/his", MALLORY, 0o755);
    disk.link("/data/his/map.toml", MALLORY, "/proc/7/comm");
    scene.grants = |_, _| &[];
    scene.moves = moves(&["/data/config", "/data/his"], &[], FORGED_MAP);
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
}

/// The attacker owns a directory above a binding's key file.
fn key_file() -> Scene {
    let mut scene = Scene::new("key-file", MAP);
    let disk = &mut scene.disk;
    disk.directory("/data", MALLORY, 0o755);
    disk.directory("/data/keys", JANE, 0o755);
    disk.file(KEY_FILE, JANE, 0o600, "key", "k\n");
    disk.directory("/data/his", MALLORY, 0o755);
    disk.link("/data/his/b.key", MALLORY, "/home/jane/private.key");
    disk.file("/home/jane/private.key", JANE, 0o600, "key", "k-diary\n");
    disk.file("/home/jane/note.md", JANE, 0o600, "note", "a note");
    let text = "[bindings.b]\nkey_file = \"/data/keys/b.key\"\n[keys]\n\"k\" = \"/home/jane/note.md\"\n\"k-diary\" = \"/home/jane/diary.md\"\n";
    map(disk, MAP, JANE, text);
    scene.asks = vec![Ask::Bound("b", "k")];
    scene.grants = |_, _| &["note"];
    scene.moves = moves(&["/data/keys", "/data/his"], &["/home/jane"], "k-diary");
    scene.calm = Calm::Refused;
    scene.depth = 3;
    scene
}

/// A note in a directory that the attacker may write.
pub(super) fn shared(name: &'static str, names: &[&'static str]) -> Scene {
    let mut scene = Scene::new(name, MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.file("/srv/share/a.md", JANE, 0o644, "note", "a note of jane's");
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"/srv/share/a.md\"\n");
    scene.moves = moves(names, &["/home/jane/diary.md"], FORGED_TEXT);
    scene
}

/// The attacker puts a FIFO there.
fn fifo() -> Scene {
    let mut scene = shared("fifo", &["/srv/share/a.md", "/srv/share/b.md"]);
    scene.disk.fifo("/srv/share/b.md", MALLORY);
    scene
}

/// The attacker owns the mapped file.
fn lease() -> Scene {
    let mut scene = shared("lease", &["/srv/share/a.md"]);
    let id = scene.disk.at("/srv/share/a.md");
    scene.disk.nodes[id].uid = MALLORY.uid;
    scene
}

/// Two versions of one file. A read returns half of it at a time.
pub(super) const FIRST: &str = "first version, first version";
pub(super) const SECOND: &str = "second text,  second text, 2";

/// A note that the user saves, and that the host reads in halves.
pub(super) fn saved(name: &'static str, save: Save) -> Scene {
    let mut scene = Scene::new(name, MAP);
    let disk = &mut scene.disk;
    let id = disk.file("/home/jane/note.md", JANE, 0o600, "note", FIRST);
    disk.file_mut(id).piece = FIRST.len() / 2;
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"~/note.md\"\n");
    scene.grants = |_, _| &["note"];
    scene.depth = save.steps.len();
    if save.steps.len() < 4 {
        // The host may be delayed for a while.
        scene.moves.push(crate::moves::Move::Wait(30));
    }
    scene.save(save);
    scene
}

fn save_in_place() -> Scene {
    let save = Save::in_place("/home/jane/note.md", "note", SECOND);
    saved("save-in-place", save)
}

fn save_over() -> Scene {
    saved(
        "save-over",
        Save::over("/home/jane/note.md", "note", SECOND),
    )
}
