//! Documents in places where others may write: the walker serves what is there, and
//! never what is elsewhere.

use super::{
    MAP,
    breaks::{map, shared},
};
use crate::{
    disk::{JANE, MALLORY, ROOT},
    moves::{FORGED_TEXT, Move, all as moves},
    scene::{Calm, Scene},
};

pub(super) fn all() -> Vec<Scene> {
    vec![
        anything_in_a_shared_directory(),
        file_that_others_write(),
        root_that_others_fill(),
        link_among_others(),
        link_in_tmp(),
        hard_links_in_tmp(),
        directories_beneath_a_root(),
        way_back(),
    ]
}

fn anything_in_a_shared_directory() -> Scene {
    let mut scene = shared("shared-directory", &["/srv/share/a.md", "/srv/share/b.md"]);
    scene
        .disk
        .link("/srv/share/b.md", JANE, "/home/jane/diary.md");
    scene
}

/// The attacker may write the file itself, which the host reads in halves; and ticks
/// are long.
fn file_that_others_write() -> Scene {
    let mut scene = shared("shared-file", &["/srv/share/a.md"]);
    let id = scene.disk.at("/srv/share/a.md");
    scene.disk.nodes[id].mode = 0o666;
    scene.disk.file_mut(id).piece = 8;
    scene.disk.tick = 10 * crate::disk::MS;
    scene.moves.push(Move::Wait(5));
    scene.depth = 3;
    scene
}

/// A root that others cannot replace, but in which they may do anything.
fn root_that_others_fill() -> Scene {
    let mut scene = Scene::new("shared-root", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.directory("/srv/share/notes", JANE, 0o755);
    disk.file("/srv/share/notes/a.md", JANE, 0o644, "note", "a note");
    disk.directory("/srv/share/his", MALLORY, 0o777);
    disk.link("/srv/share/his/a.md", MALLORY, "/home/jane/diary.md");
    disk.link("/srv/share/home", MALLORY, "/home/jane");
    disk.directory("/home/jane/sub", JANE, 0o700);
    disk.file(
        "/home/jane/sub/other.md",
        JANE,
        0o600,
        "other",
        crate::scene::OTHER_TEXT,
    );
    let text = "roots = [\"/srv/share\", \"~/sub\"]\n[keys]\n\"k\" = \"/srv/share/notes/a.md\"\n\"k-other\" = \"~/sub/other.md\"\n";
    disk.file(MAP, JANE, 0o600, "map", text);
    scene.roots = &["/srv/share", "~/sub"];
    scene.moves = moves(
        &[
            "/srv/share/notes",
            "/srv/share/his",
            "/srv/share/home",
            "/srv/share/his/a.md",
        ],
        &["/home/jane"],
        FORGED_TEXT,
    );
    scene
}

/// The mapped name is the user's own link, among links that others may move.
fn link_among_others() -> Scene {
    let mut scene = Scene::new("link-among-others", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.file("/home/jane/note.md", JANE, 0o600, "note", "a note");
    disk.link("/srv/share/a.md", JANE, "/home/jane/note.md");
    disk.link("/srv/share/b.md", JANE, "/home/jane/diary.md");
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"/srv/share/a.md\"\n");
    scene.moves = moves(
        &["/srv/share/a.md", "/srv/share/b.md"],
        &["/home/jane/diary.md"],
        FORGED_TEXT,
    );
    scene.calm = Calm::Refused;
    scene.depth = 3;
    scene
}

/// The same in a sticky directory, where nobody can move what belongs to others.
fn link_in_tmp() -> Scene {
    let mut scene = Scene::new("link-in-tmp", MAP);
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.file("/home/jane/note.md", JANE, 0o600, "note", "a note");
    disk.link("/tmp/a.md", JANE, "/home/jane/note.md");
    disk.link("/tmp/b.md", JANE, "/home/jane/diary.md");
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"/tmp/a.md\"\n");
    scene.moves = moves(
        &["/tmp/a.md", "/tmp/b.md", "/tmp/c.md"],
        &["/home/jane/diary.md"],
        FORGED_TEXT,
    );
    scene.depth = 3;
    scene
}

/// The same if users can link others' links, while the user's own link is not there: the
/// user's editor removes it and makes it again.
fn hard_links_in_tmp() -> Scene {
    let mut scene = link_in_tmp();
    scene.name = "hard-links-in-tmp";
    let disk = &mut scene.disk;
    disk.free_links = true;
    let tmp = disk.at("/tmp");
    disk.remove(tmp, "a.md");
    scene.calm = Calm::Refused;
    scene
        .moves
        .push(Move::Link("/home/jane/diary.md", "/tmp/a.md"));
    scene
}

/// Directories and links at each step of a longer path.
fn directories_beneath_a_root() -> Scene {
    let mut scene = Scene::new("long-way", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.directory("/srv/share/one", JANE, 0o777);
    disk.directory("/srv/share/one/two", JANE, 0o777);
    disk.file("/srv/share/one/two/a.md", JANE, 0o644, "note", "a note");
    disk.directory("/home/jane/sub", JANE, 0o700);
    disk.file(
        "/home/jane/sub/other.md",
        JANE,
        0o600,
        "other",
        crate::scene::OTHER_TEXT,
    );
    disk.link("/srv/root", ROOT, "share/one");
    let text = "roots = [\"/srv/root\", \"~/sub\"]\n[keys]\n\"k\" = \"/srv/root/two/../two/a.md\"\n\"k-other\" = \"~/sub/other.md\"\n";
    disk.file(MAP, JANE, 0o600, "map", text);
    scene.roots = &["/srv/root", "~/sub"];
    scene.moves = moves(
        &["/srv/share/one", "/srv/share/one/two", "/srv/share/aside"],
        &["/home/jane", ".."],
        FORGED_TEXT,
    );
    // Others may replace `one` by another directory.
    scene.calm = Calm::Refused;
    scene
}

/// The path leads up again, from a directory that others may in the meantime move out of
/// the root, to a place with a file of the same name.
fn way_back() -> Scene {
    let mut scene = Scene::new("way-back", MAP);
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.directory("/srv/share/one", JANE, 0o777);
    disk.directory("/srv/share/one/two", JANE, 0o777);
    disk.file("/srv/share/one/a.md", JANE, 0o644, "note", "a note");
    disk.directory("/srv/open", JANE, 0o755);
    disk.file("/srv/open/a.md", JANE, 0o644, "elsewhere", "not in a root");
    disk.directory("/srv/open/his", JANE, 0o777);
    disk.directory("/home/jane/sub", JANE, 0o700);
    disk.file(
        "/home/jane/sub/other.md",
        JANE,
        0o600,
        "other",
        crate::scene::OTHER_TEXT,
    );
    let text = "roots = [\"/srv/share\", \"~/sub\"]\n[keys]\n\"k\" = \"/srv/share/one/two/../a.md\"\n\"k-other\" = \"~/sub/other.md\"\n";
    disk.file(MAP, JANE, 0o600, "map", text);
    scene.roots = &["/srv/share", "~/sub"];
    scene.moves = moves(
        &[
            "/srv/share/one",
            "/srv/share/one/two",
            "/srv/open/his",
            "/srv/open/his/x",
        ],
        &["/srv/open/his"],
        FORGED_TEXT,
    );
    scene
}
