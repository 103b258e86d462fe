//! Whatever the paths say, the walk opens a directory that the map means.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(target_os = "linux")]
#[path = "resolve_linux_tests.rs"]
mod linux;
#[path = "resolve_roots_tests.rs"]
mod roots;

use super::{Grant, resolve};
use crate::{
    Code,
    map::{Key, Location, Map},
};
use proptest::prelude::*;
use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::symlink,
    path::PathBuf,
};
use tempfile::TempDir;

/// A home with files in it. Its map is `~/config/map.toml`.
struct Home(TempDir);

impl Home {
    /// A home with these files. Each file contains its own name.
    fn with(files: &[&str]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for file in files {
            let path = home.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        home
    }

    /// The real path of something in the home.
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn link(&self, name: &str, target: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        symlink(target, self.path(name)).unwrap();
    }

    fn resolve(&self, roots: &[&str], path: &str) -> Result<Grant, Code> {
        let map = self.path("config/map.toml");
        let location = Location::find(Some(&map), |name| {
            (name == "HOME").then(|| self.path("").into())
        })
        .unwrap();
        let text = match roots {
            [] => format!("[keys]\nk = {path:?}"),
            roots => format!("roots = {roots:?}\n[keys]\nk = {path:?}"),
        };
        let map = Map::parse(text.as_bytes(), &location).unwrap();
        resolve(&map, map.find(&Key::try_from("k").unwrap()).unwrap())
    }

    /// What the guest would read, and where that is.
    fn read(&self, roots: &[&str], path: &str) -> Result<(String, PathBuf), Code> {
        self.resolve(roots, path)
            .map(|resolved| (read(&resolved), place(&resolved)))
    }

    fn refusal(&self, roots: &[&str], path: &str) -> Code {
        self.resolve(roots, path).unwrap_err()
    }
}

#[test]
fn a_root_that_others_could_have_put_there_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::with(&["open/root/a.md", "own/a.md"]);
    fs::set_permissions(home.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    let location = Location::find(Some(&home.path("map.toml")), |_| None).unwrap();
    let roots = ["open/root", "own", "gone"].map(|root| home.path(root));
    let text = format!("roots = {roots:?}\n[keys]\n");
    let map = Map::parse(text.as_bytes(), &location).unwrap();
    let distrusted = map.distrusted_roots();
    let [root] = &distrusted[..] else {
        panic!("{distrusted:?}");
    };
    assert_eq!(root.path, home.path("open"));
}

/// Reads as the guest does: in the directory, without following links.
fn read(resolved: &Grant) -> String {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW;
    let file = rustix::fs::openat(
        &resolved.directory,
        &resolved.name,
        flags,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let mut text = String::new();
    File::from(file).read_to_string(&mut text).unwrap();
    text
}

/// The path of the directory that was opened, as the kernel knows it.
fn place(resolved: &Grant) -> PathBuf {
    #[cfg(target_os = "macos")]
    let path = {
        use std::{ffi::OsString, os::unix::ffi::OsStringExt};
        PathBuf::from(OsString::from_vec(
            rustix::fs::getpath(&resolved.directory)
                .unwrap()
                .into_bytes(),
        ))
    };
    #[cfg(target_os = "linux")]
    let path = {
        use std::os::fd::AsRawFd;
        fs::read_link(format!("/proc/self/fd/{}", resolved.directory.as_raw_fd())).unwrap()
    };
    path
}

#[test]
fn a_path_is_beneath_the_home_or_the_maps_directory_or_absolute() {
    let home = Home::with(&["notes/a.md", "config/team/b.md"]);
    let notes = home.path("notes");
    assert_eq!(
        home.read(&[], "~/notes/a.md").unwrap(),
        ("notes/a.md".into(), notes.clone())
    );
    assert_eq!(
        home.read(&[], "~//notes/a.md").unwrap(),
        ("notes/a.md".into(), notes.clone())
    );
    assert_eq!(
        home.read(&[], "../notes/a.md").unwrap(),
        ("notes/a.md".into(), notes.clone())
    );
    assert_eq!(
        home.read(&[], notes.join("a.md").to_str().unwrap())
            .unwrap(),
        ("notes/a.md".into(), notes)
    );
    assert_eq!(
        home.read(&[], "team/b.md").unwrap(),
        ("config/team/b.md".into(), home.path("config/team"))
    );
}

#[test]
fn the_limit_goes_along() {
    let home = Home::with(&["a.md"]);
    let resolved = home.resolve(&[], "~/a.md").unwrap();
    assert_eq!(
        (resolved.name.as_str(), resolved.max_bytes),
        ("a.md", crate::limits::DEFAULT_MAX_BYTES)
    );
}

#[test]
fn the_name_in_the_map_must_end_in_md() {
    let home = Home::with(&["a.md", "a.txt", "b.MD", ".md", "sub/.md"]);
    home.link("a", "a.md");
    for path in [
        "~/a.txt",
        "~/a",
        "~/b.MD",
        "~/.md",
        "~/sub/.md",
        "~/a.md/",
        "~/a.md/.",
        "~/a.md ",
        "~/none",
    ] {
        assert_eq!(home.refusal(&[], path), Code::NotMarkdown, "{path}");
    }
}

#[test]
fn the_real_file_must_end_in_md_too() {
    let home = Home::with(&["secret", "a.md"]);
    home.link("b.md", "secret");
    home.link("c.md", "a.md");
    assert_eq!(home.refusal(&[], "~/b.md"), Code::NotMarkdown);
    assert_eq!(home.read(&[], "~/c.md").unwrap().0, "a.md");
    home.link("root.md", "/");
    assert_eq!(home.refusal(&[], "~/root.md"), Code::NotAFile);
}

#[test]
fn what_is_not_there_is_not_found() {
    let home = Home::with(&["file"]);
    home.link("dangling.md", "none.md");
    home.link("loop.md", "loop.md");
    let long = format!("~/{}.md", "x".repeat(300));
    for path in [
        "~/none.md",
        "~/none/a.md",
        "~/file/a.md",
        "~/dangling.md",
        "~/loop.md",
        &long,
    ] {
        assert_eq!(home.refusal(&[], path), Code::NotFound, "{path}");
    }
}

#[test]
fn with_roots_the_real_file_must_lie_in_one() {
    let home = Home::with(&["notes/a.md", "notes/deep/b.md", "other/c.md", "config/d.md"]);
    let roots = ["~/gone", "~/notes"];
    assert_eq!(home.read(&roots, "~/notes/a.md").unwrap().0, "notes/a.md");
    assert_eq!(
        home.read(&roots, "~/notes/deep/b.md").unwrap().0,
        "notes/deep/b.md"
    );
    for path in ["~/other/c.md", "~/notes/../other/c.md", "d.md"] {
        assert_eq!(home.refusal(&roots, path), Code::OutsideRoot, "{path}");
    }
    assert_eq!(home.refusal(&["~/gone"], "~/notes/a.md"), Code::OutsideRoot);
}

#[test]
fn a_root_is_not_a_prefix_of_its_sibling() {
    let home = Home::with(&["notes/a.md", "notes-private/b.md"]);
    assert_eq!(
        home.refusal(&["~/notes"], "~/notes-private/b.md"),
        Code::OutsideRoot
    );
    assert_eq!(
        home.read(&["~/notes-private"], "~/notes-private/b.md")
            .unwrap()
            .0,
        "notes-private/b.md"
    );
}

#[test]
fn a_file_as_a_root_does_not_open_its_directory() {
    let home = Home::with(&["notes/a.md", "notes/b.md"]);
    assert_eq!(
        home.refusal(&["~/notes/a.md"], "~/notes/a.md"),
        Code::OutsideRoot
    );
}

#[test]
fn a_link_out_of_a_root_is_refused_and_a_link_into_one_is_followed() {
    let home = Home::with(&["notes/a.md", "private/b.md"]);
    home.link("notes/out.md", "../private/b.md");
    home.link("notes/dir", "../private");
    home.link("in.md", "notes/a.md");
    home.link("alias", "notes");
    assert_eq!(
        home.refusal(&["~/notes"], "~/notes/out.md"),
        Code::OutsideRoot
    );
    assert_eq!(
        home.refusal(&["~/notes"], "~/notes/dir/b.md"),
        Code::OutsideRoot
    );
    assert_eq!(home.read(&["~/notes"], "~/in.md").unwrap().0, "notes/a.md");
    // A root may be a link as well.
    assert_eq!(
        home.read(&["~/alias"], "~/notes/a.md").unwrap().0,
        "notes/a.md"
    );
}

#[test]
fn files_kept_by_a_dotfile_manager_just_work() {
    let home = Home::with(&["store/abc/notes/a.md"]);
    home.link("generation", "store/abc");
    home.link("notes", "generation/notes");
    assert_eq!(
        home.read(&["~/store"], "~/notes/a.md").unwrap(),
        ("store/abc/notes/a.md".into(), home.path("store/abc/notes"))
    );
}

/// What a random tree contains.
#[derive(Clone, Debug)]
enum Node {
    File,
    Directory,
    Link(String),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "in", "in-side", "x.md", "y.md"])
}

/// A path of a few names, some of them `..`.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![4 => name(), 1 => Just(".."), 1 => Just(".")],
        1..5,
    )
    .prop_map(|names| names.join("/"))
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        Just(Node::File),
        Just(Node::Directory),
        path().prop_map(Node::Link)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_outside_the_roots_is_ever_opened(
        nodes in prop::collection::vec((prop::collection::vec(name(), 1..4), node()), 1..20),
        roots in prop::collection::vec(prop::collection::vec(name(), 0..3), 1..3),
        asked in prop::collection::vec(path(), 1..4),
    ) {
        let home = Home::with(&[]);
        for (names, node) in &nodes {
            let path = home.path(&format!("t/{}", names.join("/")));
            // Some do not fit into the tree, for instance because there is a file in
            // the way.
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = match node {
                Node::File => fs::write(&path, ""),
                Node::Directory => fs::create_dir_all(&path).and_then(|()| fs::write(path.join("x.md"), "")),
                Node::Link(target) => symlink(target, &path),
            };
        }
        let roots: Vec<String> = roots.iter().map(|names| format!("~/t/{}", names.join("/"))).collect();
        let written: Vec<&str> = roots.iter().map(String::as_str).collect();
        let real: Vec<PathBuf> = roots.iter().filter_map(|root| home.path(&root[2..]).canonicalize().ok()).collect();
        // Every node, whatever is under it, and some paths that lead anywhere.
        let asked = asked.into_iter().chain(nodes.iter().map(|(names, _)| names.join("/")));
        for path in asked.flat_map(|path| [format!("~/t/{path}/x.md"), format!("~/t/{path}/y.md"), format!("~/t/{path}")]) {
            if let Ok(resolved) = home.resolve(&written, &path) {
                let place = place(&resolved);
                prop_assert!(real.iter().any(|root| place.ancestors().any(|above| above == root)), "{place:?} is in none of {real:?}");
                prop_assert!(!resolved.name.contains('/'));
                prop_assert!(resolved.name.ends_with(".md"));
            }
        }
    }
}
