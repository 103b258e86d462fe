//! Files and names that were made to do harm, in a map that the user wrote in
//! good faith. The real program answers.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::{Session, World};
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io::Write as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

world_attacks! {
    "A hostile tree";
    cve_2025_53109_symlink_escape: "a link in the root leads out of it: to a file, through a directory, and to nothing";
    cve_2025_53110_prefix_sibling: "a file in `notes-private`, where the root is `notes`: its own path, and by `..`";
    chained_links: "a link in the root leads to a link outside, which leads to a file outside";
    link_and_back: "a link leads out of the root, to a link that leads back to a file in it";
    link_loop: "the name is a link to itself";
    hard_link: "the name is a hard link to a file outside the root";
    fifo: "the name is a FIFO that nobody writes to";
    socket: "the name is a socket";
    device: "the name is a device (`/dev/zero` under another name)";
    directory: "the name is a directory called `x.md`";
    file_as_directory: "the path goes through a file";
    unreadable_file: "the file may not be read";
    unreadable_directory: "the file's directory may not be searched";
    deleted_file: "the file was deleted";
    deleted_and_restored: "the file is deleted and restored all the time, for 2,000 calls";
    replaced_file: "the file is replaced by another version all the time, for 500 calls";
    growing_file: "the file is being appended to, for 500 calls";
    shrinking_file: "the file is emptied and filled again, for 500 calls";
    sparse_terabyte: "the file is a sparse one of 1 TiB";
    not_text: "the file is not UTF-8";
    over_long_path: "the path is 5,000 bytes long";
    control_characters: "the names hold a newline, a tab, an escape sequence and a right-to-left mark";
    look_alikes: "two names that look alike, one with a Cyrillic letter, and one composed and one decomposed";
    upper_case_ending: "the names end in `.MD` and `.Md`";
    trailing_dots_and_blanks: "the names end in `.md.`, `.md ` and `.md/`";
    ending_alone: "the name is `.md` alone";
    backslash: "the name holds a backslash";
    name_not_utf8: "a link leads to a file whose name is not UTF-8";
    directory_not_utf8: "a link leads into a directory whose name is not UTF-8";
}

/// In whatever lies outside of the root.
const OUTSIDE: &str = "hunter2, from outside";

/// A root with an honest file in it and, outside of it, what must not be served.
fn world() -> World {
    World::new()
        .file("notes/honest.md", "honest\n")
        .file("notes-private/secret.md", OUTSIDE)
        .file("outside.md", OUTSIDE)
}

/// A map of these paths as `k-0`, `k-1` and so on.
fn mapped(world: World, paths: &[&str]) -> World {
    let mut map = "roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\n".to_owned();
    for (at, path) in paths.iter().enumerate() {
        // JSON's strings are TOML's as well.
        map += &format!("k-{at} = {}\n", serde_json::json!(path));
    }
    world.map(map)
}

/// What the honest call gets.
fn served(client: &mut Session) {
    client.load("k-honest").is("honest\n");
}

/// Asks for every path of `paths` twice, with an honest call after each, and
/// checks that the caller gets `codes`. Gives them as text.
fn refused(world: World, paths: &[&str], codes: &[&str]) -> Outcome {
    assert_eq!(paths.len(), codes.len());
    let world = mapped(world, paths);
    asked(&world, codes)
}

/// As [`refused`], for a world that has its map already.
fn asked(world: &World, codes: &[&str]) -> Outcome {
    let mut client = world.client();
    for _ in 0..2 {
        for (at, code) in codes.iter().enumerate() {
            client.load(&format!("k-{at}")).refused(code);
            served(&mut client);
        }
    }
    client.end();
    let mut codes = codes.to_vec();
    codes.dedup();
    Ok(codes
        .iter()
        .map(|code| format!("`{code}`"))
        .collect::<Vec<_>>()
        .join(", "))
}

/// Asks for every path of `paths` and checks that each gets what lies there.
fn read(world: World, paths: &[&str], texts: &[&str]) -> Outcome {
    assert_eq!(paths.len(), texts.len());
    let world = mapped(world, paths);
    let mut client = world.client();
    for (at, text) in texts.iter().enumerate() {
        client.load(&format!("k-{at}")).is(text);
        served(&mut client);
    }
    client.end();
    Ok("served: the file of exactly that name".to_owned())
}

fn cve_2025_53109_symlink_escape() -> Outcome {
    let world = world()
        .link("notes/file.md", "../outside.md")
        .link("notes/directory", "../notes-private")
        .link("notes/etc.md", "/etc/passwd")
        .link("notes/dangling.md", "../missing.md");
    let paths = [
        "~/notes/file.md",
        "~/notes/directory/secret.md",
        "~/notes/etc.md",
        "~/notes/dangling.md",
    ];
    refused(
        world,
        &paths,
        &["outside-root", "outside-root", "not-markdown", "not-found"],
    )
}

fn cve_2025_53110_prefix_sibling() -> Outcome {
    let paths = [
        "~/notes-private/secret.md",
        "~/notes/../notes-private/secret.md",
        "~/notes/./../notes-private//secret.md",
    ];
    refused(world(), &paths, &["outside-root"; 3])
}

fn chained_links() -> Outcome {
    let world = world()
        .link("notes/chain.md", "../step.md")
        .link("step.md", "outside.md");
    refused(world, &["~/notes/chain.md"], &["outside-root"])
}

fn link_and_back() -> Outcome {
    let world = world()
        .link("notes/back.md", "../step.md")
        .link("step.md", "notes/honest.md");
    read(world, &["~/notes/back.md"], &["honest\n"])
        .map(|_| "served: what counts is the real file, and that lies in the root".to_owned())
}

fn link_loop() -> Outcome {
    refused(
        world().link("notes/a.md", "a.md"),
        &["~/notes/a.md"],
        &["not-found"],
    )
}

fn hard_link() -> Outcome {
    let world = world();
    fs::hard_link(world.path("outside.md"), world.path("notes/hard.md")).unwrap();
    read(world, &["~/notes/hard.md"], &[OUTSIDE])
        .map(|_| "served: a hard link is the file, which lies here as much as there".to_owned())
}

fn fifo() -> Outcome {
    let world = world();
    ground::fifo(&world.path("notes/a.md"));
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn socket() -> Outcome {
    let world = world();
    let _listener = UnixListener::bind(world.path("notes/a.md")).unwrap();
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn device() -> Outcome {
    let world = world();
    let made = Command::new("mknod")
        .arg(world.path("notes/a.md"))
        .args(["c", "1", "5"])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("only root may make one, and not everywhere");
    }
    refused(world, &["~/notes/a.md"], &["not-a-file"])
}

fn directory() -> Outcome {
    refused(
        world().directory("notes/x.md"),
        &["~/notes/x.md"],
        &["not-a-file"],
    )
}

fn file_as_directory() -> Outcome {
    refused(world(), &["~/notes/honest.md/x.md"], &["not-found"])
}

fn unreadable_file() -> Outcome {
    let world = world().file("notes/a.md", "shut");
    fs::set_permissions(world.path("notes/a.md"), Permissions::from_mode(0o0)).unwrap();
    asked(
        &mapped(world, &["~/notes/a.md"]).unprivileged(),
        &["permission-denied"],
    )
}

fn unreadable_directory() -> Outcome {
    let world = mapped(
        world().file("notes/shut/a.md", "shut"),
        &["~/notes/shut/a.md"],
    )
    .unprivileged();
    let set_mode = |mode| {
        let shut = world.path("notes/shut");
        fs::set_permissions(shut, Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0);
    let got = asked(&world, &["permission-denied"]);
    set_mode(0o700); // it could not be removed otherwise
    got
}

fn deleted_file() -> Outcome {
    refused(world(), &["~/notes/a.md"], &["not-found"])
}

/// While `change` runs again and again, each of many calls is judged by `fits`:
/// its text, or its code. Some of them must get a text, or nothing was tried.
fn while_changing(
    calls: usize,
    world: World,
    change: impl Fn(&World) + Sync,
    fits: impl Fn(Result<&str, &str>) -> bool,
) {
    let world = mapped(world, &["~/notes/a.md"]);
    let mut client = world.client();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also where an assertion fails, or the other thread would never end.
        let _stop = Stop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                change(&world);
            }
        });
        let mut texts = 0;
        // At most twenty times as many calls, where few get through.
        for call in 0.. {
            if call >= calls && texts > 0 {
                break;
            }
            assert!(call < calls * 20, "no call got a text");
            let answer = client.load("k-0");
            let got = answer.text().ok_or_else(|| answer.code().unwrap());
            texts += usize::from(got.is_ok());
            assert!(fits(got), "{:.300}", answer.message().to_string());
        }
    });
    served(&mut client);
    client.end();
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn deleted_and_restored() -> Outcome {
    let world = world().file("notes/a.md", "whole");
    let change = |world: &World| {
        fs::remove_file(world.path("notes/a.md")).unwrap();
        fs::write(world.path("notes/new"), "whole").unwrap();
        fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
    };
    while_changing(2000, world, change, |got| {
        matches!(got, Ok("whole") | Err("not-found"))
    });
    Ok("the whole file, or `not-found`".to_owned())
}

fn replaced_file() -> Outcome {
    // Longer than one read.
    let versions = ["a".repeat(100_000), "b".repeat(80_000)];
    let world = world().file("notes/a.md", &versions[0]);
    let change = |world: &World| {
        for version in &versions {
            fs::write(world.path("notes/new"), version).unwrap();
            fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
        }
    };
    while_changing(500, world, change, |got| match got {
        Ok(text) => versions.iter().any(|version| version == text),
        // The link count of an open file changes with it.
        Err(code) => code == "changed",
    });
    Ok("the whole of one version".to_owned())
}

/// Lines that are all different, so that a part in the wrong place is seen.
fn lines() -> String {
    (0..10_000).map(|line| format!("line {line}\n")).collect()
}

fn growing_file() -> Outcome {
    let all = lines();
    let world = world().file("notes/a.md", "");
    let change = |world: &World| {
        let mut file = fs::File::create(world.path("notes/a.md")).unwrap();
        for part in all.as_bytes().chunks(1000) {
            file.write_all(part).unwrap();
        }
    };
    while_changing(500, world, change, |got| match got {
        Ok(text) => all.starts_with(text),
        Err(code) => code == "changed",
    });
    Ok("what it was at one moment, or `changed`".to_owned())
}

fn shrinking_file() -> Outcome {
    let all = lines();
    let world = world().file("notes/a.md", &all);
    let change = |world: &World| {
        fs::write(world.path("notes/a.md"), &all).unwrap();
        let file = fs::File::options()
            .write(true)
            .open(world.path("notes/a.md"))
            .unwrap();
        for part in (0..4).rev() {
            file.set_len(all.len() as u64 / 4 * part).unwrap();
        }
    };
    while_changing(500, world, change, |got| match got {
        Ok(text) => all.starts_with(text),
        Err(code) => code == "changed",
    });
    Ok("what it was at one moment, or `changed`".to_owned())
}

fn sparse_terabyte() -> Outcome {
    let world = world().file("notes/a.md", "");
    let file = fs::File::options()
        .write(true)
        .open(world.path("notes/a.md"))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    refused(world, &["~/notes/a.md"], &["too-large"])
}

fn not_text() -> Outcome {
    refused(
        world().file("notes/a.md", b"caf\xe9"),
        &["~/notes/a.md"],
        &["not-utf8"],
    )
}

fn over_long_path() -> Outcome {
    let long = format!("~/notes/{}.md", "a".repeat(5000));
    let deep = format!("~/notes/{}a.md", "a/".repeat(2500));
    refused(world(), &[&long, &deep], &["not-found"; 2])
}

fn control_characters() -> Outcome {
    let names = [
        "a\nb.md",
        "a\tb.md",
        "\u{1b}[31mred\u{1b}[0m.md",
        "\u{202e}dm.md",
        " .md",
    ];
    let world = names.iter().fold(world(), |world, name| {
        world.file(&format!("notes/{name}"), name)
    });
    let paths = names.map(|name| format!("~/notes/{name}"));
    read(world, &paths.each_ref().map(|path| &**path), &names)
}

fn look_alikes() -> Outcome {
    let names = [
        "scope.md",
        "s\u{441}ope.md",
        "caf\u{e9}.md",
        "cafe\u{301}.md",
    ];
    if !cfg!(target_os = "linux") {
        return Err("this file system takes composed and decomposed for one");
    }
    let world = names.iter().fold(world(), |world, name| {
        world.file(&format!("notes/{name}"), name)
    });
    let paths = names.map(|name| format!("~/notes/{name}"));
    read(world, &paths.each_ref().map(|path| &**path), &names)
}

fn upper_case_ending() -> Outcome {
    let world = world().file("notes/a.MD", "a").file("notes/b.Md", "b");
    refused(
        world,
        &["~/notes/a.MD", "~/notes/b.Md"],
        &["not-markdown"; 2],
    )
}

fn trailing_dots_and_blanks() -> Outcome {
    let world = world().file("notes/a.md.", "a").file("notes/a.md ", "a");
    let paths = [
        "~/notes/a.md.",
        "~/notes/a.md ",
        "~/notes/honest.md/",
        "~/notes/honest.md/.",
    ];
    refused(world, &paths, &["not-markdown"; 4])
}

fn ending_alone() -> Outcome {
    refused(
        world().file("notes/.md", "a"),
        &["~/notes/.md"],
        &["not-markdown"],
    )
}

fn backslash() -> Outcome {
    let world = world().file("notes/a\\b.md", "a");
    refused(
        world,
        &["~/notes/a\\b.md", "~/notes\\..\\outside.md"],
        &["outside-root", "not-found"],
    )
}

fn name_not_utf8() -> Outcome {
    let world = world();
    let name = OsStr::from_bytes(b"caf\xe9.md");
    if fs::write(world.path("notes").join(name), "a").is_err() {
        return Err("this file system has no such names");
    }
    symlink(name, world.path("notes/a.md")).unwrap();
    refused(world, &["~/notes/a.md"], &["not-markdown"])
}

fn directory_not_utf8() -> Outcome {
    let world = world();
    let name = OsStr::from_bytes(b"caf\xe9");
    let directory = world.path("notes").join(name);
    if fs::create_dir(&directory).is_err() {
        return Err("this file system has no such names");
    }
    fs::write(directory.join("a.md"), "there").unwrap();
    symlink(name, world.path("notes/d")).unwrap();
    read(world, &["~/notes/d/a.md"], &["there"])
}
