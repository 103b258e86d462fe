//! Maps in places where others may do something, but not enough.

use super::{GRANTS, MAP, OLD, map};
use crate::{
    disk::{JANE, MALLORY, Mounted, ROOT, TEAM},
    moves::{FORGED_MAP, MALLORYS, all as moves},
    save::{Save, Stage},
    scene::{NOTE, Scene},
};
use keyhole_core::Refusal;

pub(super) fn all() -> Vec<Scene> {
    vec![
        own_group(),
        team_group(),
        access_list(),
        map_beside_tmp(),
        old_map_in_tmp(),
        dotfile_manager(),
        mounted("foreign-mount", Mounted::By(MALLORY.uid)),
        // macOS mounts most external volumes so.
        mounted("volume-without-owners", Mounted::WithoutOwners),
        // In procfs, a program of root's may say what another user told it.
        mounted("kernel-file-system", Mounted::Kernel),
    ]
}

/// `umask 002`, and a group of one's own.
fn own_group() -> Scene {
    let mut scene = Scene::new("own-group", MAP);
    let disk = &mut scene.disk;
    map(disk, MAP, GRANTS);
    for (path, mode) in [("/home/jane", 0o775), (MAP, 0o664), (NOTE, 0o664)] {
        disk.node(path).mode = mode;
    }
    disk.directory("/tmp", ROOT, 0o1777);
    disk.link("/home/jane/link", JANE, "/tmp/his");
    let names = [MAP, NOTE, "/etc/group", "/tmp/his"];
    scene.moves = moves(&names, &["/etc/passwd"], FORGED_MAP);
    scene
}

/// The same, with a group in which the attacker is as well.
fn team_group() -> Scene {
    let mut scene = own_group();
    scene.name = "team-group".into();
    scene.disk.node("/home/jane").gid = TEAM;
    scene.disk.node(MAP).gid = TEAM;
    scene.without_map()
}

/// An access control list lets the attacker write the map.
fn access_list() -> Scene {
    let mut scene = own_group();
    scene.name = "access-list".into();
    scene.disk.node(MAP).acl = Some(MALLORY.uid);
    scene.depth = 3;
    scene.without_map()
}

/// The map in a directory of the user's own in `/tmp`.
fn map_beside_tmp() -> Scene {
    let mut scene = Scene::new("map-beside-tmp", "/tmp/jane/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.directory("/tmp/jane", JANE, 0o755);
    map(disk, scene.map, GRANTS);
    disk.directory("/tmp/his", MALLORY, 0o755);
    disk.file("/tmp/his/map.toml", MALLORY, 0o644, MALLORYS, FORGED_MAP);
    let names = ["/tmp/jane", "/tmp/his", scene.map];
    scene.moves = moves(&names, &["/tmp/his"], FORGED_MAP);
    scene.depth = 3;
    scene
}

/// The map's place is in `/tmp` itself. At the moment there is no map, but an old copy
/// in the same directory, and users can link others' files.
fn old_map_in_tmp() -> Scene {
    let mut scene = Scene::new("old-map-in-tmp", "/tmp/map.toml");
    let disk = &mut scene.disk;
    disk.free_links = true;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.link("/tmp/link.toml", JANE, "/tmp/old.toml");
    for path in ["/tmp/old.toml", "/home/jane/old.toml"] {
        map(disk, path, OLD);
    }
    scene.asks = vec!["k-old"];
    scene.grants = |_, _| &[];
    let names = [scene.map, "/tmp/old.toml", "/tmp/link.toml"];
    scene.moves = moves(
        &names,
        &["/home/jane/old.toml", "/tmp/old.toml"],
        FORGED_MAP,
    );
    scene.depth = 3;
    scene.without_map().refused(Refusal::MapMissing)
}

/// The map is a link to a folder of dotfiles, and its owner takes a key away while
/// calls run, saving by a rename.
fn dotfile_manager() -> Scene {
    let mut scene = Scene::new("dotfile-manager", "/home/jane/.config/map.toml");
    let disk = &mut scene.disk;
    disk.node("/home/jane").mode = 0o711;
    disk.directory("/home/jane/.config", JANE, 0o755);
    disk.directory("/home/jane/dotfiles", JANE, 0o755);
    disk.link(scene.map, JANE, "../dotfiles/map.toml");
    let (real, new) = ("/home/jane/dotfiles/map.toml", "/home/jane/dotfiles/new");
    map(disk, real, "[keys]\n\"k\" = \"/home/jane/note.md\"\n");
    let after = "[keys]\n\"k-other\" = \"/home/jane/other.md\"\n";
    disk.file(new, JANE, 0o600, "map", after);
    scene.save(Save::by_rename(real, after, new));
    scene.asks = vec!["k", "k"];
    scene.grants = |stages, _| match stages[0] {
        Stage::After => &[],
        _ => &["note"],
    };
    let others = moves(&[scene.map], &["/home/jane/diary.md"], FORGED_MAP);
    scene.moves.extend(others);
    scene
}

/// A mount that says that all of it is jane's, and lets others write.
fn mounted(name: &str, mounted: Mounted) -> Scene {
    let mut scene = Scene::new(name, "/tmp/mnt/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.mount("/tmp/mnt", mounted);
    disk.file(scene.map, JANE, 0o600, MALLORYS, FORGED_MAP);
    scene.grants = |_, _| &[];
    scene.moves = moves(&["/tmp/mnt", "/tmp/his"], &["/tmp/mnt"], FORGED_MAP);
    scene.depth = 3;
    scene.without_map()
}
