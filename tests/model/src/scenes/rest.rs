//! The user's own saves while calls run, with each kind of clock.

use super::{GRANTS, MAP, map};
use crate::{
    disk::{JANE, MS, START},
    moves::Move,
    save::{Save, Stage},
    scene::{NOTE, OTHER_KEY, Scene},
};

/// Two versions of one file. A read returns half of it at a time.
const FIRST: &str = "first version, first version";
const SECOND: &str = "second text,  second text, 2";

/// So many writes, each of which lasts as long as it may, take longer than the host waits.
const LONG: usize = 24;

pub(super) fn all() -> Vec<Scene> {
    let note = [
        ("save-in-place", Save::in_place(NOTE, SECOND)),
        ("save-over", Save::over(NOTE, SECOND)),
        ("save-in-two", Save::in_pieces(NOTE, SECOND, 2)),
    ];
    let map = [
        ("edit-in-place", Save::in_place(MAP, EDITED)),
        ("edit-over", Save::over(MAP, EDITED)),
        ("edit-in-two", Save::in_pieces(MAP, EDITED, 2)),
    ];
    let mut scenes = Vec::new();
    for (kind, saves) in [(saved as Kind, note), (edit, map)] {
        for (name, save) in saves {
            scenes.push(kind(name, save.clone()));
            if name != "edit-in-place" {
                scenes.push(in_seconds(kind(name, save)));
            }
        }
    }
    scenes.extend([
        saved_by_rename(),
        in_future(by_a_clock("save-in-the-future", 60_000)),
        by_a_clock("save-by-a-slow-clock", -8_000),
        while_set("save-while-the-clock-is-set-back", -1_000_000),
        saved_again(),
        begun(saved("save-for-long", Save::in_pieces(NOTE, SECOND, LONG))),
        in_seconds(saved("save-for-long", Save::in_pieces(NOTE, SECOND, LONG))),
        edit("edit-by-mapping", Save::by_mapping(MAP, OVERWRITTEN)),
        begun(edit("edit-for-long", Save::in_pieces(MAP, EDITED, LONG))),
        edited_twice(),
    ]);
    scenes
}

type Kind = fn(&str, Save) -> Scene;

pub(super) fn not_promised() -> Vec<Scene> {
    // The source of a `write` may be a mapping of a file on a slow mount.
    let slow = Save {
        slow: true,
        ..Save::over(NOTE, SECOND)
    };
    vec![
        saved("save-by-a-slow-write", slow),
        saved("save-by-mapping", Save::by_mapping(NOTE, SECOND)),
        by_a_clock("save-by-a-late-clock", -60_000),
        while_set("save-while-the-clock-is-set-forward", 1_000_000),
    ]
}

/// A note that the user saves, and that the host reads in halves.
fn saved(name: &str, save: Save) -> Scene {
    let mut scene = Scene::new(name, MAP);
    let disk = &mut scene.disk;
    let id = disk.at(NOTE);
    let file = disk.file_mut(id);
    (file.bytes, file.piece) = (FIRST.as_bytes().into(), FIRST.len() / 2);
    map(disk, MAP, GRANTS);
    scene.depth = save.steps.len().min(4);
    scene.save(save);
    // The host may be delayed for a while.
    scene.moves.push(Move::Wait(30));
    scene
}

fn saved_by_rename() -> Scene {
    let save = Save::by_rename(NOTE, SECOND, "/home/jane/note.new");
    let mut scene = saved("save-by-rename", save);
    let disk = &mut scene.disk;
    let id = disk.file("/home/jane/note.new", JANE, 0o600, "note", SECOND);
    disk.file_mut(id).piece = SECOND.len() / 2;
    scene
}

/// A file system that keeps only every other second, and time that passes.
fn in_seconds(mut scene: Scene) -> Scene {
    scene.name += "-in-whole-seconds";
    scene.disk.tick = 2000 * MS;
    scene.moves.truncate(1);
    scene.moves.push(Move::Wait(500));
    scene.depth = 3;
    scene
}

/// Somebody begins the save, and it takes its time.
fn begun(mut scene: Scene) -> Scene {
    scene.moves.truncate(1);
    scene.depth = 1;
    scene
}

/// A file server whose clock is so many milliseconds ahead of ours.
fn by_a_clock(name: &str, ahead: i64) -> Scene {
    let mut scene = saved(name, Save::over(NOTE, SECOND));
    scene.disk.skew = ahead * MS as i64;
    scene
}

/// Somebody sets the clock of this machine meanwhile, by so many milliseconds.
fn while_set(name: &str, by: i64) -> Scene {
    let mut scene = saved(name, Save::over(NOTE, SECOND));
    scene.moves.truncate(1);
    scene.moves.push(Move::SetClock(by));
    scene
}

/// A file that was last changed by a clock ahead of ours.
fn in_future(mut scene: Scene) -> Scene {
    let note = scene.disk.node(NOTE);
    (note.modified, note.changed) = (START + 50_000 * MS, START + 50_000 * MS);
    scene
}

/// A file that was written to right before the call, and is written to again.
fn saved_again() -> Scene {
    let mut scene = saved("save-after-save", Save::in_place(NOTE, SECOND));
    scene.save(Save::over(NOTE, FIRST));
    scene
}

const EDITED: &str = "[keys]\n\"k-other\" = \"/home/jane/other.md\"\n# the key k was taken away\n";
/// As long as the map before it, because a store in a mapping does not change the length.
const OVERWRITTEN: &str = "[keys]\n#k\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";

/// The owner removes a key, in each way in which a file is saved.
fn edit(name: &str, save: Save) -> Scene {
    let mut scene = Scene::new(name, MAP);
    let disk = &mut scene.disk;
    map(disk, MAP, GRANTS);
    let id = disk.at(MAP);
    disk.file_mut(id).piece = 32;
    scene.asks = vec!["k", "k", OTHER_KEY];
    scene.grants = |stages, call| match (call, stages[0]) {
        (2, _) => &["other"],
        (_, Stage::After) => &[],
        _ => &["note"],
    };
    scene.depth = save.steps.len().min(4);
    scene.save(save);
    if scene.depth < 4 {
        // The host may be delayed for a while.
        scene.moves.push(Move::Wait(30));
    }
    scene
}

/// The owner edits the map twice in a row, each time in another half of it: a read that
/// gets one half from each edit sees the map as it was before both.
fn edited_twice() -> Scene {
    let first = "[keys]\n\"k\" = \"~/note.md\" #\n\"k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let second = "[keys]\n\"k\" = \"~/note.md\" #\n#k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let third = "[keys]\n#k\" = \"~/note.md\" #\n\"k-2\" = \"~/note.md\"\n\"k-other\" = \"/home/jane/other.md\"\n";
    let mut scene = edit("edited-twice", Save::over(MAP, second));
    scene.moves.clear();
    scene.saves.clear();
    scene.save(Save::over(MAP, second));
    scene.save(Save::over(MAP, third));
    for save in &mut scene.saves {
        // Half of the text is there: that does not count here.
        save.steps.remove(1);
    }
    let id = scene.disk.at(MAP);
    scene.disk.file_mut(id).bytes = first.as_bytes().into();
    scene.disk.file_mut(id).piece = 27;
    scene.depth = 4;
    scene.asks.truncate(2);
    scene.grants = |_, _| &["note"];
    scene
}
