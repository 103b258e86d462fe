//! Maps and key files in places where others may do something, but not enough.

use super::{MAP, breaks::map};
use crate::{
    disk::{JANE, MALLORY, Mounted, ROOT, TEAM},
    moves::{FORGED_MAP, Move, all as moves},
    save::Save,
    scene::{Ask, Calm, Scene},
};

pub(super) fn all() -> Vec<Scene> {
    vec![
        own_group(),
        team_group(),
        map_beside_tmp(),
        old_map_in_tmp(),
        dotfile_manager(),
        foreign_mount(),
        volume_without_owners(),
        access_list(),
        key_beside_tmp(),
        mode_opened(),
    ]
}

/// `umask 002`, and a group of one's own.
fn own_group() -> Scene {
    let mut scene = Scene::new("own-group", MAP);
    let disk = &mut scene.disk;
    let home = disk.at("/home/jane");
    disk.nodes[home].mode = 0o775;
    map(disk, MAP, JANE, "[keys]\n\"k\" = \"note.md\"\n");
    let id = disk.at(MAP);
    disk.nodes[id].mode = 0o664;
    disk.file("/home/jane/note.md", JANE, 0o664, "note", "a note");
    disk.link("/home/jane/link", JANE, "/tmp/his");
    disk.directory("/tmp", ROOT, 0o1777);
    scene.moves = moves(
        &[MAP, "/home/jane/note.md", "/etc/group", "/tmp/his"],
        &["/etc/passwd"],
        FORGED_MAP,
    );
    scene
}

/// The same, with a group in which the attacker is as well.
fn team_group() -> Scene {
    let mut scene = own_group();
    scene.name = "team-group";
    let home = scene.disk.at("/home/jane");
    scene.disk.nodes[home].gid = TEAM;
    let id = scene.disk.at(MAP);
    scene.disk.nodes[id].gid = TEAM;
    scene.calm = Calm::Refused;
    scene.other = false;
    scene
}

/// The map in a directory of the user's own in `/tmp`.
fn map_beside_tmp() -> Scene {
    let mut scene = Scene::new("map-beside-tmp", "/tmp/jane/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.directory("/tmp/jane", JANE, 0o755);
    disk.file("/home/jane/note.md", JANE, 0o600, "note", "a note");
    map(
        disk,
        "/tmp/jane/map.toml",
        JANE,
        "[keys]\n\"k\" = \"/home/jane/note.md\"\n",
    );
    disk.directory("/tmp/his", MALLORY, 0o755);
    disk.file("/tmp/his/map.toml", MALLORY, 0o644, "mallory's", FORGED_MAP);
    scene.moves = moves(
        &["/tmp/jane", "/tmp/his", "/tmp/jane/map.toml"],
        &["/tmp/his"],
        FORGED_MAP,
    );
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
    map(
        disk,
        "/tmp/old.toml",
        JANE,
        "[keys]\n\"k-old\" = \"/home/jane/diary.md\"\n",
    );
    disk.link("/tmp/link.toml", JANE, "/tmp/old.toml");
    map(
        disk,
        "/home/jane/old.toml",
        JANE,
        "[keys]\n\"k-old\" = \"/home/jane/diary.md\"\n",
    );
    scene.asks = vec![Ask::Key("k-old")];
    scene.grants = |_, _| &[];
    scene.moves = moves(
        &["/tmp/map.toml", "/tmp/old.toml", "/tmp/link.toml"],
        &["/home/jane/old.toml", "/tmp/old.toml"],
        FORGED_MAP,
    );
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
}

/// The map is a link to a folder of dotfiles, and its owner takes a key away while
/// calls run, saving by a rename.
fn dotfile_manager() -> Scene {
    let mut scene = Scene::new("dotfile-manager", "/home/jane/.config/map.toml");
    let disk = &mut scene.disk;
    let home = disk.at("/home/jane");
    disk.nodes[home].mode = 0o711;
    disk.directory("/home/jane/.config", JANE, 0o755);
    disk.directory("/home/jane/dotfiles", JANE, 0o755);
    disk.link("/home/jane/.config/map.toml", JANE, "../dotfiles/map.toml");
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/share", JANE, 0o777);
    disk.file("/srv/share/a.md", JANE, 0o644, "note", "a note");
    let before = "[keys]\n\"k\" = \"/srv/share/a.md\"\n";
    map(disk, "/home/jane/dotfiles/map.toml", JANE, before);
    let after = "[keys]\n\"k-other\" = \"/home/jane/other.md\"\n";
    disk.file("/home/jane/dotfiles/new", JANE, 0o600, "map", after);
    scene.save(Save::by_rename(
        "/home/jane/dotfiles/map.toml",
        "map",
        after,
        "/home/jane/dotfiles/new",
    ));
    scene.asks = vec![Ask::Key("k"), Ask::Key("k")];
    scene.grants = |stages, _| match stages[0] {
        crate::save::Stage::After => &[],
        _ => &["note", crate::moves::MALLORYS],
    };
    scene.moves.extend(moves(
        &["/srv/share/a.md", "/home/jane/.config/map.toml"],
        &["/home/jane/diary.md"],
        FORGED_MAP,
    ));
    scene
}

/// A mount whose owner may make it say anything.
fn foreign_mount() -> Scene {
    let mut scene = Scene::new("foreign-mount", "/tmp/mnt/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.mount("/tmp/mnt", Mounted::By(MALLORY.uid));
    // It says that all of it is jane's, and still lets its owner write.
    disk.file("/tmp/mnt/map.toml", JANE, 0o600, "mallory's", FORGED_MAP);
    scene.grants = |_, _| &[];
    scene.moves = moves(&["/tmp/mnt", "/tmp/his"], &["/tmp/mnt"], FORGED_MAP);
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
}

/// A volume on which everybody owns everything. macOS mounts most external volumes so.
fn volume_without_owners() -> Scene {
    let mut scene = foreign_mount();
    scene.name = "volume-without-owners";
    let map = scene.disk.at("/tmp/mnt/map.toml");
    let device = scene.disk.nodes[map].device;
    scene.disk.mounts[device] = Mounted::WithoutOwners;
    scene
}

/// An access control list lets the attacker write the map.
fn access_list() -> Scene {
    let mut scene = own_group();
    scene.name = "access-list";
    let id = scene.disk.at(MAP);
    scene.disk.nodes[id].acl = Some(MALLORY.uid);
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
}

/// A binding's key file behind a link in `/tmp`.
fn key_beside_tmp() -> Scene {
    let mut scene = Scene::new("key-beside-tmp", MAP);
    let disk = &mut scene.disk;
    disk.directory("/tmp", ROOT, 0o1777);
    disk.directory("/home/jane/keys", JANE, 0o700);
    disk.file("/home/jane/keys/b.key", JANE, 0o600, "key", "k\n");
    disk.directory("/home/jane/private", JANE, 0o700);
    disk.file("/home/jane/private/b.key", JANE, 0o600, "key", "k-diary\n");
    disk.link("/tmp/keys", JANE, "/home/jane/keys");
    disk.link("/tmp/private", JANE, "/home/jane/private");
    disk.file("/home/jane/note.md", JANE, 0o600, "note", "a note");
    let text = "[bindings.b]\nkey_file = \"/tmp/keys/b.key\"\n[keys]\n\"k\" = \"/home/jane/note.md\"\n\"k-diary\" = \"/home/jane/diary.md\"\n";
    map(disk, MAP, JANE, text);
    disk.free_links = true;
    scene.asks = vec![Ask::Bound("b", "k")];
    scene.grants = |_, _| &["note"];
    scene.moves = moves(
        &["/tmp/keys", "/tmp/private", "/tmp/his"],
        &["/home/jane/private"],
        "k-diary",
    );
    scene.depth = 3;
    scene
}

/// The map's directory is open to all. Only the moment at which the host judges it
/// counts: its owner might close it later. Here it stays open.
fn mode_opened() -> Scene {
    let mut scene = Scene::new("open-map-directory", "/srv/open/map.toml");
    let disk = &mut scene.disk;
    disk.directory("/srv", ROOT, 0o755);
    disk.directory("/srv/open", JANE, 0o777);
    map(disk, "/srv/open/map.toml", JANE, "[keys]\n");
    map(
        disk,
        "/srv/open/old.toml",
        JANE,
        "[keys]\n\"k-old\" = \"/home/jane/diary.md\"\n",
    );
    scene.asks = vec![Ask::Key("k-old")];
    scene.grants = |_, _| &[];
    scene.moves = moves(
        &["/srv/open/map.toml", "/srv/open/old.toml"],
        &["/home/jane/old"],
        FORGED_MAP,
    );
    scene.moves.push(Move::Wait(30));
    scene.calm = Calm::Refused;
    scene.other = false;
    scene.depth = 3;
    scene
}
