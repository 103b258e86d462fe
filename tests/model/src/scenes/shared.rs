//! Documents and roots in places where others may do something: refused if they could
//! change what is there, and served if they could not.

use super::{MAP, map, map_with_root};
use crate::{
    disk::{Disk, JANE, MALLORY, Mounted, ROOT, TEAM},
    moves::{FORGED_TEXT, MALLORYS, Move, all as moves},
    scene::Scene,
};
use keyhole_core::Refusal;

pub(super) fn all() -> Vec<Scene> {
    let mut scenes = vec![link_in_tmp(), directory_in_tmp(), long_way()];
    scenes.extend(notes_that_others_change());
    scenes
}

const SHARED: &str = "/srv/share/a.md";

/// Opens the user's note, or a folder on its path, to the attacker.
type Opening = fn(&mut Disk);

/// Each way in which the attacker may write the mapped file itself, or could have.
fn notes_that_others_change() -> Vec<Scene> {
    let all: [(&str, Opening); 6] = [
        ("note-for-all", |disk| disk.node(SHARED).mode = 0o666),
        ("note-of-a-group", |disk| {
            (disk.node(SHARED).mode, disk.node(SHARED).gid) = (0o664, TEAM);
        }),
        ("note-with-an-access-list", |disk| {
            (disk.node(SHARED).mode, disk.node(SHARED).acl) = (0o664, Some(MALLORY.uid));
        }),
        ("note-of-another", |disk| {
            disk.node(SHARED).uid = MALLORY.uid
        }),
        ("note-in-a-foreign-mount", |disk| {
            disk.mounts.push(Mounted::By(MALLORY.uid));
            disk.node(SHARED).device = disk.mounts.len() - 1;
            // It says that all of this is jane's, and lets its owner write.
            let id = disk.at(SHARED);
            disk.file_mut(id).label = MALLORYS;
        }),
        ("note-in-a-shared-directory", |disk| {
            disk.node("/srv/share").mode = 0o777;
        }),
    ];
    let scene = |(name, opens): (_, Opening)| {
        let mut scene = Scene::new(name, MAP);
        let disk = &mut scene.disk;
        disk.directory("/srv", ROOT, 0o755);
        disk.directory("/srv/share", JANE, 0o755);
        disk.file(SHARED, JANE, 0o644, "note", "a note of jane's");
        disk.link("/srv/share/b.md", JANE, "/home/jane/diary.md");
        map(disk, MAP, "[keys]\n\"k\" = \"/srv/share/a.md\"\n");
        opens(disk);
        let names = [SHARED, "/srv/share/b.md"];
        scene.moves = moves(&names, &["/home/jane/diary.md"], FORGED_TEXT);
        // The guest's word for it: see `guest.rs`.
        scene.refused(Refusal::OutsideRoot)
    };
    let mut scenes: Vec<_> = all.into_iter().map(scene).collect();
    // Only here does the walk refuse it, before the guest is asked.
    scenes[5].calm = Err(Refusal::Untrusted);
    scenes
}

/// The mapped name is the user's own link, in a directory like `/tmp`. There, nobody can move
/// what belongs to others; but anybody can move it there, from a directory that is not sticky,
/// or make a hard link to it, if the system lets them. The user's own link is not there: the
/// user's editor removed it, and makes it again.
fn link_in_tmp() -> Scene {
    let mut scene = Scene::new("link-in-tmp", MAP);
    let disk = &mut scene.disk;
    disk.free_links = true;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.link("/tmp/b.md", JANE, "/home/jane/diary.md");
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.link("/srv/share/d.md", JANE, "/home/jane/diary.md");
    map(disk, MAP, "[keys]\n\"k\" = \"/tmp/a.md\"\n");
    let names = ["/tmp/a.md", "/tmp/b.md", "/tmp/c.md"];
    scene.moves = moves(&names, &["/home/jane/diary.md"], FORGED_TEXT);
    scene.moves.extend([
        Move::Rename("/srv/share/d.md", "/tmp/a.md"),
        Move::Link("/home/jane/diary.md", "/tmp/a.md"),
    ]);
    scene.depth = 3;
    scene.refused(Refusal::NotFound)
}

/// Nor is the user's own directory there. But there is one elsewhere that others may write
/// to, and so move.
fn directory_in_tmp() -> Scene {
    let mut scene = Scene::new("directory-in-tmp", MAP);
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.directory("/srv/share/box", JANE, 0o1777);
    disk.directory("/srv/share/box/notes", JANE, 0o755);
    disk.link("/srv/share/box/notes/a.md", JANE, "/home/jane/diary.md");
    map(disk, MAP, "[keys]\n\"k\" = \"/tmp/box/notes/a.md\"\n");
    let names = ["/srv/share/box", "/tmp/box"];
    scene.moves = moves(&names, &["/home/jane"], FORGED_TEXT);
    scene.depth = 3;
    scene.refused(Refusal::NotFound)
}

/// Directories and links at each step of a longer path, which begins in `/tmp`.
fn long_way() -> Scene {
    let mut scene = Scene::new("long-way", MAP);
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.directory("/tmp/one", JANE, 0o755);
    disk.directory("/tmp/one/two", JANE, 0o755);
    disk.file("/tmp/one/two/a.md", JANE, 0o644, "note", "a note");
    disk.directory("/tmp/his", MALLORY, 0o777);
    disk.link("/home/jane/root", JANE, "/tmp/one");
    map_with_root(disk, "~/root", "~/root/two/../two/a.md");
    let names = ["/tmp/one", "/tmp/his", "/tmp/one/two", "/tmp/aside"];
    scene.moves = moves(&names, &["/home/jane", ".."], FORGED_TEXT);
    scene
}
