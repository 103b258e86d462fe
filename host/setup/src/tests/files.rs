//! Files that are not as usual, and runs that end in the middle.

use super::{Home, MAP, SETTINGS, User, YES, bind, inject, wants};
use crate::{Disk, Outcome, Request, SetupError, What, disk::put_back};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// The user's settings and map, which other people's lines are in.
pub(super) fn lived_in() -> Home {
    let home = Home::new();
    home.file(
        SETTINGS,
        "{\r\n\t\"model\": \"x\",\r\n\t\"permissions\": { \"deny\": [\"Read(~/.ssh/**)\"] }\r\n}",
    );
    home.file("notes/b.md", "b\n");
    home.file(MAP, "# mine\n\n[keys.b]\npath = '~/notes/b.md'");
    home
}

/// The run is cut off before each system call that changes something. A file is then as it was
/// or as it shall be, and `remove` brings each back.
#[test]
fn a_run_that_is_killed_leaves_whole_files_that_can_be_taken_back() {
    let whole = lived_in();
    let before = whole.everything();
    whole
        .install(&bind("claude-code", "a"), &mut User::answers(YES))
        .unwrap();
    let relative =
        |home: &Home, all: &std::collections::BTreeMap<std::path::PathBuf, Option<Vec<u8>>>| {
            let at = home.path("");
            // The folder for tickets has the home's path.
            let moved = |bytes: &Vec<u8>| {
                let text = String::from_utf8_lossy(bytes);
                text.replace(&at.display().to_string(), "/home/me")
                    .into_bytes()
            };
            let pairs = all.iter().map(|(path, bytes)| {
                (
                    path.strip_prefix(&at).unwrap().to_owned(),
                    bytes.as_ref().map(moved),
                )
            });
            pairs.collect::<std::collections::BTreeMap<_, _>>()
        };
    let (old, new) = (
        relative(&whole, &before),
        relative(&whole, &whole.everything()),
    );
    let mut steps = 0;
    loop {
        let home = lived_in();
        let done = home.door(Some(steps), |door| {
            door.install(&bind("claude-code", "a"), &mut User::answers(YES))
        });
        for (path, bytes) in relative(&home, &home.everything()) {
            let is_beside = path.to_string_lossy().ends_with(".keyhole-new");
            let is_one = |of: &std::collections::BTreeMap<_, _>| of.get(&path) == Some(&bytes);
            // The settings are written twice: the rules come first.
            let is_between = path.ends_with(SETTINGS)
                && serde_json::from_slice::<serde_json::Value>(
                    bytes.as_deref().unwrap_or_default(),
                )
                .is_ok_and(|value| value["model"] == "x");
            assert!(
                is_beside || is_between || is_one(&old) || is_one(&new),
                "{steps}: {}",
                path.display()
            );
        }
        if let Ok(Outcome::Done(_)) = done {
            break;
        }
        let _ = home.remove("a");
        let files = relative(&home, &home.everything()).into_iter();
        let files = files.filter(|(path, bytes)| {
            bytes.is_some() && !path.to_string_lossy().ends_with(".keyhole-new")
        });
        let was: Vec<_> = old
            .clone()
            .into_iter()
            .filter(|(_, bytes)| bytes.is_some())
            .collect();
        assert_eq!(files.collect::<Vec<_>>(), was, "{steps}");
        // And it can be begun again.
        home.given(&bind("claude-code", "a"));
        for (path, bytes) in &new {
            assert_eq!(
                relative(&home, &home.everything()).get(path),
                Some(bytes),
                "{steps}"
            );
        }
        home.remove("a").unwrap();
        steps += 1;
    }
    assert!(steps > 20, "{steps}");
}

#[test]
fn what_others_wrote_since_stays_and_ours_goes() {
    let home = lived_in();
    home.given(&bind("claude-code", "a"));
    // The client writes its settings again, in its own style.
    let settings: serde_json::Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    let mut changed = settings.clone();
    changed["theme"] = "dark".into();
    home.file(SETTINGS, &format!("{changed:#}"));
    let map = home.read(MAP) + "\n[keys.c]\npath = '~/notes/b.md'\n";
    home.file(MAP, &map);
    home.file(".claude/agents/a.md", "my own text\n");
    home.remove("a").unwrap();
    let left: serde_json::Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    let was = serde_json::json!({ "model": "x", "permissions": { "deny": ["Read(~/.ssh/**)"] }, "theme": "dark" });
    assert_eq!(left, was);
    let left = home.read(MAP);
    assert!(
        !left.contains("bindings.a") && left.contains("[keys.c]") && left.contains("[keys.b]"),
        "{left}"
    );
    assert_eq!(home.read(".claude/agents/a.md"), "my own text\n");
}

#[test]
fn what_two_names_need_stays_until_both_are_gone() {
    for changed in [false, true] {
        let home = lived_in();
        home.given(&bind("claude-code", "a"));
        home.install(&bind("claude-code", "b"), &mut User::answers(&["b", "y"]))
            .unwrap();
        if changed {
            let settings: serde_json::Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
            home.file(SETTINGS, &format!("{settings:#}"));
        }
        home.remove("a").unwrap();
        let rules = |home: &Home| home.read(SETTINGS).contains("Read(~/private/**)");
        assert!(rules(&home), "{changed}");
        home.remove("b").unwrap();
        assert!(!rules(&home), "{changed}");
        let left: serde_json::Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
        let was =
            serde_json::json!({ "model": "x", "permissions": { "deny": ["Read(~/.ssh/**)"] } });
        assert_eq!(left["permissions"]["deny"], was["permissions"]["deny"]);
        assert_eq!(home.read(MAP), "# mine\n\n[keys.b]\npath = '~/notes/b.md'");
    }
}

/// A new rule would be another one, but the old ones still do.
#[test]
fn the_rules_of_two_names_stay_when_a_folder_changes() {
    let home = Home::new();
    home.file("private/b.md", "b\n");
    home.given(&wants(What::Plugin));
    let request = Request {
        file: "~/private/b.md".into(),
        ..bind("claude-code", "y")
    };
    home.given(&request);
    home.file("private/z.txt", "");
    for request in [&wants(What::Plugin), &request] {
        let again = home.install(request, &mut User::answers(&[])).unwrap();
        assert!(matches!(again, Outcome::Already(_)), "{again:?}");
    }
    home.remove("plugin").unwrap();
    assert!(home.read(SETTINGS).contains("Read(~/private/**)"));
    home.remove("y").unwrap();
    assert!(!home.path(SETTINGS).exists());
}

#[test]
fn what_changed_between_the_question_and_the_answer_is_not_lost() {
    let home = lived_in();
    let settings = home.path(SETTINGS);
    let mut user = User::answers(YES);
    user.answers.truncate(2);
    user.meanwhile = Some(Box::new(move || {
        fs::write(&settings, "{ \"new\": 1 }").unwrap()
    }));
    let error = home
        .install(&bind("claude-code", "a"), &mut user)
        .unwrap_err();
    assert!(matches!(error, SetupError::Stopped(..)), "{error}");
    let error = error.to_string();
    for says in [
        "it has changed since it was shown\n\nThe whole plan was:\n",
        "\n  + [bindings.a]\n",
    ] {
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(home.read(SETTINGS), "{ \"new\": 1 }");
    assert_eq!(home.read(MAP), "# mine\n\n[keys.b]\npath = '~/notes/b.md'");
    assert!(!home.path(".claude/agents/a.md").exists());
    // Nor is a file that was closed opened again, or a new link replaced.
    let change: [fn(&Home); 2] = [
        |home| fs::set_permissions(home.path(SETTINGS), fs::Permissions::from_mode(0o600)).unwrap(),
        |home| {
            fs::rename(home.path(SETTINGS), home.path("real.json")).unwrap();
            symlink(home.path("real.json"), home.path(SETTINGS)).unwrap();
        },
    ];
    for change in change {
        let home = std::rc::Rc::new(lived_in());
        let mut user = User::answers(&["y", "y"]);
        let its = home.clone();
        user.meanwhile = Some(Box::new(move || change(&its)));
        let stopped = home.install(&bind("claude-code", "a"), &mut user);
        assert!(matches!(stopped, Err(SetupError::Stopped(..))));
        assert!(!home.read(SETTINGS).contains("private"));
        let mode = fs::metadata(home.path(SETTINGS)).unwrap().mode() & 0o777;
        assert!(mode == 0o600 || home.path(SETTINGS).is_symlink());
    }
}

/// On a file system of the network, for instance.
#[test]
fn a_file_is_written_where_a_rename_can_do_nothing_new() {
    let home = Home::new();
    let disk = Disk {
        is_plain: true,
        ..Disk::default()
    };
    let path = home.path("a.json");
    let nothing = disk.find(&path).unwrap();
    disk.replace(&nothing, b"one").unwrap();
    disk.replace(&nothing, b"another").unwrap_err();
    assert_eq!(home.read("a.json"), "one");
    disk.replace(&disk.find(&path).unwrap(), b"two").unwrap();
    assert_eq!(home.read("a.json"), "two");
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 1);
    assert!(!home.path(".a.json.keyhole-new").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn an_access_list_is_not_lost_and_none_comes_from_the_folder() {
    use rustix::fs::{XattrFlags, getxattr_query, setxattr};
    let access = "system.posix_acl_access";
    // The owner, another user, the group, the mask, and others; each with what it may.
    let entries = [
        (1u16, 6u16, u32::MAX),
        (2, 6, 65534),
        (4, 0, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, may, who) in entries {
        list.extend([tag.to_le_bytes(), may.to_le_bytes()].concat());
        list.extend(who.to_le_bytes());
    }
    let set = |place: &std::path::Path, name: &str| {
        setxattr(place, name, &list, XattrFlags::empty()).unwrap();
    };
    let home = lived_in();
    set(&home.path(SETTINGS), access);
    let before = home.everything();
    let refused = home.install(&bind("claude-code", "a"), &mut User::answers(YES));
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("it has an access list"), "{why}");
    assert_eq!(home.everything(), before);

    let home = lived_in();
    set(&home.path(".claude"), "system.posix_acl_default");
    let settings = home.path(SETTINGS);
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o640)).unwrap();
    home.given(&bind("claude-code", "a"));
    for place in [settings, home.path(".claude/agents/a.md")] {
        assert!(
            getxattr_query(&place, access).is_err(),
            "{}",
            place.display()
        );
    }
    assert_eq!(
        fs::metadata(home.path(SETTINGS)).unwrap().mode() & 0o777,
        0o640
    );

    // Whom the list names may read the file, or enter its folder. Whether they get as far as the
    // home is the machine's.
    let home = Home::new();
    let mode = |place: &str, mode| {
        fs::set_permissions(home.path(place), fs::Permissions::from_mode(mode)).unwrap();
    };
    let document = home.path("private/identifiers.md");
    mode("", 0o755);
    let can_come = |folder: &std::path::Path| fs::metadata(folder).unwrap().mode() & 0o1 != 0;
    let can_come = home.path("").ancestors().all(can_come);
    mode("private", 0o711);
    set(&document, access);
    assert_eq!(crate::document::is_open(&document), can_come);
    mode("private/identifiers.md", 0o604);
    mode("private", 0o700);
    set(&home.path("private"), access);
    assert!(!crate::document::is_open(&document));
    mode("private", 0o710);
    assert_eq!(crate::document::is_open(&document), can_come);
}

#[test]
fn what_a_killed_run_left_beside_a_file_goes_with_it() {
    let home = Home::new();
    let before = home.everything();
    home.given(&bind("claude-code", "a"));
    home.file(".claude/.settings.json.keyhole-new", "{}");
    home.file(".local/state/keyhole/.setup.json.keyhole-new", "{}");
    home.remove("a").unwrap();
    assert_eq!(home.everything(), before);
    assert!(!home.path(".local").exists());
}

/// What it wrote between the two looks, and what it wrote over ours since.
#[test]
fn what_is_put_back_is_the_last_that_another_program_wrote() {
    for (there, last) in [("ours", "first"), ("second", "second")] {
        let home = Home::new();
        home.file("real", there);
        home.file("beside", "first");
        put_back(&home.path("beside"), &home.path("real"), b"ours").unwrap();
        assert_eq!(home.read("real"), last);
        assert!(!home.path("beside").exists());
    }
}

/// A client that changes its own key in its settings by renaming, again and again, from
/// `delay` after `begin` until `ended`. Returns what it wrote at last.
fn rewrite(home: &Home, begin: &Receiver<()>, wrote: &Sender<()>, delay: Duration) -> String {
    let mut last = home.read(SETTINGS);
    let mut number = 0;
    if begin.recv().is_err() {
        return last;
    }
    thread::sleep(delay);
    loop {
        // At any time, a whole file is there.
        let mut settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
        number += 1;
        settings["theme"] = number.into();
        last = settings.to_string();
        home.file("new.json", &last);
        fs::rename(home.path("new.json"), home.path(SETTINGS)).unwrap();
        let _ = wrote.send(());
        let pause = begin.recv_timeout(Duration::from_micros(200));
        if pause == Err(RecvTimeoutError::Disconnected) {
            return last;
        }
    }
}

/// From the last answer on, a client rewrites its settings all the time. Nothing of it is lost:
/// either setup wrote onto the newest, or it refuses and changes nothing of it. One case remains,
/// which nobody can prevent without a lock: the client reads its settings before setup writes
/// them, and replaces them after. Then they are as the client has them, without our lines.
#[test]
fn beside_a_client_that_rewrites_its_settings_nothing_of_it_is_lost() {
    for round in 0..60 {
        let home = lived_in();
        let ((begin, begun), (wrote, written)) = (channel(), channel());
        let delay = Duration::from_micros(round * 40);
        // In each third round, it writes before setup does.
        let is_first = round % 3 == 0;
        let mut user = User::answers(&YES[1..]);
        let (done, last) = thread::scope(|scope| {
            let home = &home;
            let client = scope.spawn(move || rewrite(home, &begun, &wrote, delay));
            user.meanwhile = Some(Box::new(move || {
                begin.send(()).unwrap();
                if is_first {
                    written.recv().unwrap();
                }
            }));
            let done = home.install(&bind("claude-code", "a"), &mut user);
            // The client ends with it.
            drop(user);
            (done, client.join().unwrap())
        });
        let is = home.read(SETTINGS);
        let (settings, theirs): (Value, Value) = (
            serde_json::from_str(&is).unwrap(),
            serde_json::from_str(&last).unwrap(),
        );
        for (key, value) in theirs.as_object().unwrap() {
            assert!(
                key == "permissions" || settings[key] == *value,
                "{round}: {is}"
            );
        }
        assert!(is.contains("Read(~/.ssh/**)"), "{round}: {is}");
        match done {
            Ok(Outcome::Done(_)) if !is_first => {
                assert!(
                    is == last || is.contains("mcp__a__load_context"),
                    "{round}: {is}"
                );
            }
            Err(error @ SetupError::Stopped(..)) => {
                let said = error.to_string();
                assert!(said.contains("it has changed since it was shown"), "{said}");
                assert_eq!(is, last, "{round}");
            }
            other => panic!("{round}: {other:?}"),
        }
    }
}

#[test]
fn a_link_into_a_dotfile_repository_stays_a_link() {
    let home = lived_in();
    fs::create_dir(home.path("dotfiles")).unwrap();
    let real = home.path("dotfiles/settings.json");
    fs::rename(home.path(SETTINGS), &real).unwrap();
    symlink(&real, home.path(SETTINGS)).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let before = home.everything();
    home.given(&bind("claude-code", "a"));
    assert!(home.path(SETTINGS).is_symlink());
    assert!(
        home.read("dotfiles/settings.json")
            .contains("Read(~/private")
    );
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
    home.remove("a").unwrap();
    assert_eq!(home.everything(), before);
}

/// opencode reads both of its files, and `opencode.jsonc` last.
#[test]
fn a_permission_goes_where_no_other_file_of_opencode_undoes_it() {
    let (json, jsonc) = (
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
    );
    let home = Home::new();
    home.file(
        jsonc,
        "{\n  // mine\n  \"permission\": { \"*\": \"allow\" }\n}\n",
    );
    let before = home.everything();
    let request = bind("opencode", "a");
    home.given(&request);
    assert!(!home.path(json).exists());
    let ours = "{ \"*\": \"allow\", \"a_*\": \"deny\" }";
    assert!(home.read(jsonc).contains(ours), "{}", home.read(jsonc));
    home.remove("a").unwrap();
    assert_eq!(home.everything(), before);
    home.file(json, "{}");
    let error = home.install(&request, &mut User::answers(YES)).unwrap_err();
    assert!(error.to_string().contains("move all into one of them"));
    assert_eq!(home.read(json), "{}");
}

#[test]
fn what_belongs_to_another_user_is_not_written() {
    let is_refused = |home: &Home, why: &str| {
        let before = home.everything();
        let done = home.install(&bind("claude-code", "a"), &mut User::answers(YES));
        let error = done.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(home.everything(), before);
    };
    let home = lived_in();
    if !rustix::process::geteuid().is_root() {
        fs::remove_file(home.path(SETTINGS)).unwrap();
        symlink("/etc/passwd", home.path(SETTINGS)).unwrap();
        return is_refused(&home, "its folder is not yours");
    }
    // Only root can give a file away.
    for (place, why) in [
        (SETTINGS, "it belongs to another user"),
        (".claude", "its folder is not yours"),
    ] {
        std::os::unix::fs::chown(home.path(place), Some(12345), None).unwrap();
        is_refused(&home, why);
    }
}

#[test]
fn a_file_that_is_not_to_be_replaced_is_refused_before_anything_is_written() {
    type Make = fn(&Home);
    let odd: [(&str, Make); 7] = [
        ("read-only", |home| {
            fs::set_permissions(home.path(SETTINGS), fs::Permissions::from_mode(0o444)).unwrap();
        }),
        ("second name", |home| {
            fs::hard_link(home.path(SETTINGS), home.path("other.json")).unwrap();
        }),
        ("not a file", |home| {
            fs::remove_file(home.path(SETTINGS)).unwrap();
            fs::create_dir(home.path(SETTINGS)).unwrap();
        }),
        ("nothing is where it leads", |home| {
            fs::remove_file(home.path(SETTINGS)).unwrap();
            symlink(home.path("gone"), home.path(SETTINGS)).unwrap();
        }),
        ("not valid JSON", |home| {
            home.file(SETTINGS, "{ \"a\": 1, }")
        }),
        ("a key twice", |home| {
            home.file(SETTINGS, "{ \"a\": 1, \"a\": 2 }")
        }),
        ("not UTF-8", |home| {
            fs::write(home.path(SETTINGS), b"{ \"a\": \"\xff\" }").unwrap()
        }),
    ];
    for (why, make) in odd {
        let home = lived_in();
        make(&home);
        let before = home.everything();
        for request in [bind("claude-code", "a"), inject("a"), wants(What::Plugin)] {
            let error = home
                .install(&request, &mut User::answers(YES))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(why) && error.starts_with("nothing is changed"),
                "{why}: {error}"
            );
            assert_eq!(home.everything(), before);
        }
    }
    // A map that is not valid, and another's binding of the name.
    for map in ["[keys", "[bindings.a]\npath = '/other.md'\n"] {
        let home = lived_in();
        home.file(MAP, map);
        let before = home.everything();
        home.install(&bind("claude-code", "a"), &mut User::answers(YES))
            .unwrap_err();
        assert_eq!(home.everything(), before);
    }
}

#[test]
fn roots_hold_what_is_there_or_are_left_out() {
    // Another entry's folder comes too.
    let home = lived_in();
    home.given(&wants(What::Plugin));
    assert!(
        home.read(MAP)
            .starts_with("# mine\n\nroots = [\"~/notes\", \"~/private\"]\n\n[keys.b]")
    );
    // One that cannot be told, or is the home.
    for path in ["~/gone/b.md", "~/b.md"] {
        let home = Home::new();
        home.file("b.md", "b\n");
        home.file(MAP, &format!("[keys.b]\npath = '{path}'\n"));
        let mut user = User::answers(YES);
        home.install(&wants(What::Plugin), &mut user).unwrap();
        assert!(!home.read(MAP).contains("roots"), "{path}");
        assert!(user.seen.contains("gets none"), "{}", user.seen);
    }
    // A document in the home makes the home no root.
    let home = Home::new();
    home.file("a.md", "a\n");
    let request = Request {
        what: What::Plugin,
        file: home.path("a.md"),
    };
    let mut user = User::answers(YES);
    home.install(&request, &mut user).unwrap();
    assert_eq!(
        home.read(MAP),
        "[keys.keyhole-privacy-catalog]\npath = \"~/a.md\"\nagents = [\"keyhole:privacy-scanner\"]\nwithhold = true\n"
    );
    assert!(
        home.read(SETTINGS).contains("Read(~/a.md)") && !home.read(SETTINGS).contains("Read(~/**)")
    );
    // Also if the home is a link.
    let home = Home::new();
    home.file("real/a.md", "a\n");
    symlink(home.path("real"), home.path("link")).unwrap();
    let real = home.path("real/a.md");
    assert_eq!(crate::document::root_of(&real, &home.path("link")), None);
    // Roots that hold it already.
    let home = Home::new();
    home.file(MAP, "roots = ['~/']\n");
    home.given(&wants(What::Plugin));
    assert!(home.read(MAP).starts_with("roots = ['~/']\n\n[keys."));
}
