//! What a home holds in a test of `setup`, and how two differ.

use keyhole_tests::{World, binary};
use keyhole_tree::private_directory;
use rustix::fs::getxattr;
use serde_json::json;
use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path};

pub(super) const ATTRIBUTE: &str = "user.keyhole-test";

/// Each path of a home: its mode or target, and its text.
pub(super) type Files = BTreeMap<String, (String, String)>;

pub(super) fn place(path: &Path) -> &str {
    path.to_str().unwrap().trim_end_matches('/')
}

/// What the client leaves in this home when it installs the plugin from the marketplace `keyhole`.
pub(super) fn install_plugin(world: &World) {
    let plugins = world.path(".claude/plugins");
    let copy = plugins.join("cache/keyhole/keyhole/0.6.0");
    private_directory(&copy);
    let entry = json!([{ "scope": "user", "installPath": copy }]);
    let installed = json!({ "version": 2, "plugins": { "keyhole@keyhole": entry } });
    let source = json!({ "source": "github", "repo": "acme/keyhole" });
    let known = json!({ "keyhole": { "source": source } });
    world.write(
        ".claude/plugins/installed_plugins.json",
        installed.to_string(),
    );
    world.write(".claude/plugins/known_marketplaces.json", known.to_string());
}

/// The beginning and the end of what differs between machines, and what then stands there: where
/// the program is, and which walls stand.
const VARYING: [(&str, &str, &str); 3] = [
    ("\nCareful: ", "\n", ""),
    ("\nwall: ", "\n", "\n"),
    ("\n  \"second_wall\": {", "},", ""),
];

/// Without what differs from run to run, or from machine to machine.
pub(super) fn cleaned(text: &str, world: &World) -> String {
    let (home, out) = (world.path(""), world.outside(""));
    let program = place(binary());
    let text = text.replace(place(&world.outside("keyhole")), program);
    let text = text
        .replace(&format!("'{program}'"), program)
        .replace(program, "KEYHOLE")
        .replace(place(binary().parent().unwrap()), "BIN");
    let text = text
        .replace(place(&home), "HOME")
        .replace(place(&out), "OUT");
    let text = text.replace('\u{feff}', "<BOM>");
    let text = text.replace('\r', "␍").replace('\t', "␉");
    let mut text = text.replace('\x1b', "␛");
    for (begin, end, instead) in VARYING {
        while let Some(at) = text.find(begin) {
            let rest = &text[at + begin.len()..];
            let (_, after) = rest.split_once(end).unwrap_or_default();
            text = [&text[..at], instead, after].concat();
        }
    }
    let keys: Vec<_> = text.match_indices("k-").map(|(at, _)| at + 2).collect();
    for at in keys.into_iter().rev() {
        let digits = text[at..].bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == 32 {
            text.replace_range(at..at + digits, "FRESH");
        }
    }
    text
}

/// All that is in the home.
pub(super) fn files(world: &World) -> Files {
    let mut all = Files::new();
    let mut folders = vec![world.path("")];
    let group = fs::metadata(&folders[0]).unwrap().gid();
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(world.home()).unwrap();
            let mut name = name.display().to_string();
            let mut kind = format!("{:o}", about.mode() & 0o7777);
            if about.gid() != group {
                kind += &format!(", group {}", about.gid());
            }
            let mut text = String::new();
            if about.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                kind = format!("-> {}", cleaned(&target.to_string_lossy(), world));
            } else if about.is_dir() {
                name += "/";
                folders.push(path);
            } else if !about.is_file() {
                kind += ", no file";
            } else {
                let has = getxattr(&path, ATTRIBUTE, &mut [0; 64]).is_ok();
                kind += if has { ", attribute" } else { "" };
                text = cleaned(&String::from_utf8_lossy(&fs::read(path).unwrap()), world);
            }
            all.insert(name, (kind, text));
        }
    }
    all
}

/// How two homes differ. A new file is not written down once more if it was shown whole.
pub(super) fn changed(old: &Files, new: &Files, shown: &str) -> String {
    let mut text = String::new();
    let full = |text: &str| {
        let lines = text.lines().map(bare);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("at the "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let shown = full(shown);
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        text += &format!("gone: {name}\n");
    }
    let is_new_folder = |name: &&String| name.ends_with('/') && !old.contains_key(*name);
    let private = new.iter().filter(|(_, (kind, _))| kind == "700");
    let folders = private.map(|(name, _)| name).filter(is_new_folder).cloned();
    let folders = folders.collect::<Vec<_>>().join(" ");
    if !folders.is_empty() {
        text += &format!("new folders (700): {folders}\n");
    }
    for (name, (kind, content)) in new {
        let lines = full(content);
        match old.get(name) {
            None if name.ends_with('/') && kind == "700" => {}
            None if shown.windows(lines.len().max(1)).any(|part| part == lines) => {
                text += &format!("new: {name} ({kind}), as shown\n");
            }
            None => text += &format!("new: {name} ({kind})\n{}", difference("", content)),
            Some((was, old)) if (was, old) != (kind, content) => {
                let is = if was == kind {
                    String::new()
                } else {
                    format!(" ({was}, now {kind})")
                };
                text += &format!("changed: {name}{is}\n{}", difference(old, content));
            }
            Some(_) => {}
        }
    }
    text
}

/// The lines of one text that the other does not have.
pub(super) fn difference(old: &str, new: &str) -> String {
    let ended = |text: &str| match text.ends_with('\n') || text.is_empty() {
        true => text.to_owned(),
        false => format!("{text}<no newline>\n"),
    };
    let (old, new) = (ended(old), ended(new));
    let [old, new] = [&old, &new].map(|text| text.lines().collect::<Vec<_>>());
    // How many lines are the same from here on.
    let mut same = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            same[i][j] = if old[i] == new[j] {
                same[i + 1][j + 1] + 1
            } else {
                same[i + 1][j].max(same[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || same[i + 1][j] >= same[i][j + 1]) {
            text += &format!("- {}\n", old[i]);
            i += 1;
        } else {
            text += &format!("+ {}\n", new[j]);
            j += 1;
        }
    }
    text
}

/// A line without what a plan, a list and a file put around it.
pub(super) fn bare(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '+', '-', '␉']);
    let line = line.strip_prefix("permissions.deny: ").unwrap_or(line);
    line.trim_end_matches([',', '␍'])
}
