//! Saves while calls run, with each kind of clock.

use super::{
    MAP,
    breaks::{FIRST, SECOND, map, saved},
};
use crate::{
    disk::{Disk, JANE, MS, START},
    moves::Move,
    save::{Save, Stage},
    scene::{Ask, OTHER_KEY, Scene},
};

const NOTE: &str = "/home/jane/note.md";

pub(super) fn all() -> Vec<Scene> {
    let mut scenes = vec![
        two_writes(),
        save_by_rename(),
        seconds(
            "save-in-whole-seconds",
            Save::in_place(NOTE, "note", SECOND),
        ),
        seconds(
            "save-over-in-whole-seconds",
            Save::over(NOTE, "note", SECOND),
        ),
        future(),
        just_saved(),
    ];
    scenes.extend(map_edits());
    scenes
}

/// A program that writes in two calls, one right after the other.
fn two_writes() -> Scene {
    saved("two-writes", Save::in_two(NOTE, "note", SECOND, 3))
}

fn save_by_rename() -> Scene {
    let save = Save::by_rename(NOTE, "note", SECOND, "/home/jane/note.new");
    let mut scene = saved("save-by-rename", save);
    let id = scene
        .disk
        .file("/home/jane/note.new", JANE, 0o600, "note", SECOND);
    scene.disk.file_mut(id).piece = SECOND.len() / 2;
    scene
}

/// A file system that keeps only whole seconds, and time that passes.
fn seconds(name: &'static str, save: Save) -> Scene {
    let mut scene = saved(name, save);
    scene.disk.tick = 1000 * MS;
    scene.moves.push(Move::Wait(500));
    scene.depth = 3;
    scene
}

/// A server whose clock is ahead of ours.
fn future() -> Scene {
    let mut scene = saved("save-in-the-future", Save::over(NOTE, "note", SECOND));
    scene.disk.skew = 60_000 * MS;
    let id = scene.disk.at(NOTE);
    (scene.disk.nodes[id].modified, scene.disk.nodes[id].changed) =
        (START + 50_000 * MS, START + 50_000 * MS);
    scene
}

/// A file that was written to right before the call, and is written to again.
fn just_saved() -> Scene {
    let mut scene = saved("save-after-save", Save::in_place(NOTE, "note", SECOND));
    scene.save(Save::over(NOTE, "note", FIRST));
    scene.moves.push(Move::Wait(10));
    scene.depth = 4;
    scene
}

const EDITED: &str = "[keys]\n\"k-other\" = \"/home/jane/other.md\"\n# the key k was taken away\n";
/// As long as the map before it, because a store in a mapping does not change the length.
const OVERWRITTEN: &str = "[keys]\n#k\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";

/// The owner removes a key, in each way in which a file is saved.
fn map_edits() -> Vec<Scene> {
    vec![
        edit("edit-in-place", Save::in_place(MAP, "map", EDITED)),
        edit("edit-over", Save::over(MAP, "map", EDITED)),
        edit("edit-in-two", Save::in_two(MAP, "map", EDITED, 3)),
        edit("edit-by-mapping", Save::by_mapping(MAP, "map", OVERWRITTEN)),
        in_seconds(edit(
            "edit-in-whole-seconds",
            Save::over(MAP, "map", EDITED),
        )),
        in_seconds(edit(
            "edit-in-two-in-whole-seconds",
            Save::in_two(MAP, "map", EDITED, 3),
        )),
        edited_twice(),
    ]
}

/// The owner edits the map twice in a row, each time in another half of it: a read that
/// gets one half from each edit sees the map as it was before both.
fn edited_twice() -> Scene {
    let mut scene = edit("edited-twice", Save::by_mapping(MAP, "map", ""));
    scene.moves.clear();
    scene.saves.clear();
    let first = "[keys]\n\"k\" = \"~/note.md\" #\n\"k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let second = "[keys]\n\"k\" = \"~/note.md\" #\n#k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let third = "[keys]\n#k\" = \"~/note.md\" #\n\"k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let id = scene.disk.at(MAP);
    scene.disk.file_mut(id).bytes = first.as_bytes().into();
    scene.disk.file_mut(id).piece = 27;
    scene.save(Save::over(MAP, "map", second));
    scene.save(Save::over(MAP, "map", third));
    for save in &mut scene.saves {
        save.steps.remove(1);
    }
    scene.depth = 4;
    scene.asks.truncate(2);
    scene.grants = |_, _| &["note"];
    scene
}

fn in_seconds(mut scene: Scene) -> Scene {
    scene.disk.tick = 1000 * MS;
    scene.moves.push(Move::Wait(1500));
    scene.depth = 3;
    scene
}

fn edit(name: &'static str, save: Save) -> Scene {
    let mut scene = Scene::new(name, MAP);
    let disk: &mut Disk = &mut scene.disk;
    disk.file(NOTE, JANE, 0o600, "note", "a note");
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"~/note.md\"\n");
    let id = disk.at(MAP);
    disk.file_mut(id).piece = 32;
    scene.depth = save.steps.len().min(4);
    if save.steps.len() < 4 {
        // The host may be delayed for a while.
        scene.moves.push(Move::Wait(30));
    }
    scene.save(save);
    scene.asks = vec![Ask::Key("k"), Ask::Key("k"), Ask::Key(OTHER_KEY)];
    scene.grants = |stages, call| match (call, stages[0]) {
        (2, _) => &["other"],
        (_, Stage::After) => &[],
        _ => &["note"],
    };
    scene
}
