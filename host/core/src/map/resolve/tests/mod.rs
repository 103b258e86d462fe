//! Whatever the paths say, the walk opens a directory that the map means.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(target_os = "linux")]
mod linux;

use super::locate;
use crate::{
    code::Code,
    grant::Grant,
    map::{Key, Location, Map},
};
use keyhole_tree::Tree;
use keyhole_walk::{FileSystem, System, Walker};
use proptest::prelude::*;
use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::symlink,
    path::PathBuf,
};

/// A user's home. Its map is `~/config/map.toml`.
struct Home(Tree);

impl Home {
    fn of(files: &[&str]) -> Self {
        Self(Tree::of(files))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn locate<F: FileSystem>(
        &self,
        files: F,
        roots: &[&str],
        path: &str,
    ) -> Result<Grant<F::Directory>, super::Unresolved> {
        let location = Location::find(Some(&self.path("config/map.toml")), |name| {
            (name == "HOME").then(|| self.path("").into())
        });
        let text = match roots {
            [] => format!("[keys]\nk = {path:?}"),
            roots => format!("roots = {roots:?}\n[keys]\nk = {path:?}"),
        };
        let map = Map::parse(text.as_bytes(), &location.unwrap()).unwrap();
        let entry = map.find(&Key::try_from("k").unwrap()).unwrap();
        locate(&Walker::new(files), &map, entry)
    }

    fn resolve(&self, roots: &[&str], path: &str) -> Result<Grant, Code> {
        let located = self.locate(System, roots, path);
        located.map_err(|error| error.code())
    }

    /// What the guest would read, and where that is.
    fn found(&self, roots: &[&str], path: &str) -> Result<(String, PathBuf), Code> {
        self.resolve(roots, path)
            .map(|resolved| (read(&resolved), place(&resolved)))
    }
}

#[test]
fn a_root_that_others_may_write_or_could_have_put_there_holds_no_file() {
    let home = Home::of(&["notes/a.md", "open/root"]);
    fs::remove_file(home.path("open/root")).unwrap();
    home.0.link("open/root", "../notes");
    assert!(home.resolve(&["~/open/root"], "~/notes/a.md").is_ok());
    home.0.mode("open", 0o777);
    let refused = home.resolve(&["~/open/root"], "~/notes/a.md");
    assert_eq!(refused.unwrap_err(), Code::OutsideRoot);
    // The other roots still hold their files.
    assert!(
        home.resolve(&["~/open/root", "~/notes"], "~/notes/a.md")
            .is_ok()
    );
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

/// The map's own directory is `config`.
#[test]
fn each_path_leads_where_the_map_means_or_is_refused_with_the_reason() {
    let home = Home::of(&[
        "notes/a.md",
        "notes/deep/b.md",
        "notes-private/b.md",
        "private/c.md",
        "config/team/d.md",
        "store/abc/kept/e.md",
        "a.txt",
        "b.MD",
        ".md",
        "sub/.md",
        "secret",
    ]);
    for (link, target) in [
        ("a", "notes/a.md"),
        ("in.md", "notes/a.md"),
        ("alias", "notes"),
        ("notes/out.md", "../private/c.md"),
        ("notes/dir", "../private"),
        ("generation", "store/abc"),
        ("kept", "generation/kept"),
        ("secret.md", "secret"),
        ("root.md", "/"),
        ("dangling.md", "none.md"),
        ("loop.md", "loop.md"),
    ] {
        home.0.link(link, target);
    }
    let absolute = home.path("notes/a.md");
    let long = format!("~/{}.md", "x".repeat(300));
    let none: &[&str] = &[];
    for (roots, path, found) in [
        (none, "~/notes/a.md", Ok("notes/a.md")),
        (none, "~//notes/a.md", Ok("notes/a.md")),
        (none, "../notes/a.md", Ok("notes/a.md")),
        (none, absolute.to_str().unwrap(), Ok("notes/a.md")),
        (none, "team/d.md", Ok("config/team/d.md")),
        // The name in the map must end in .md, and so must the real file's.
        (none, "~/a.txt", Err(Code::NotMarkdown)),
        (none, "~/a", Err(Code::NotMarkdown)),
        (none, "~/b.MD", Err(Code::NotMarkdown)),
        (none, "~/.md", Err(Code::NotMarkdown)),
        (none, "~/sub/.md", Err(Code::NotMarkdown)),
        (none, "~/notes/a.md/", Err(Code::NotMarkdown)),
        (none, "~/notes/a.md/.", Err(Code::NotMarkdown)),
        (none, "~/notes/a.md ", Err(Code::NotMarkdown)),
        (none, "~/none", Err(Code::NotMarkdown)),
        (none, "~/secret.md", Err(Code::NotMarkdown)),
        (none, "~/root.md", Err(Code::NotAFile)),
        (none, "~/none.md", Err(Code::NotFound)),
        (none, "~/none/a.md", Err(Code::NotFound)),
        (none, "~/secret/a.md", Err(Code::NotFound)),
        (none, "~/dangling.md", Err(Code::NotFound)),
        (none, "~/loop.md", Err(Code::NotFound)),
        (none, &long, Err(Code::NotFound)),
        // With roots, the real file must lie in one.
        (&["~/gone", "~/notes"], "~/notes/a.md", Ok("notes/a.md")),
        (&["~/notes"], "~/notes/deep/b.md", Ok("notes/deep/b.md")),
        (&["~/notes"], "~/private/c.md", Err(Code::OutsideRoot)),
        (
            &["~/notes"],
            "~/notes/../private/c.md",
            Err(Code::OutsideRoot),
        ),
        (&["~/notes"], "team/d.md", Err(Code::OutsideRoot)),
        (&["~/gone"], "~/notes/a.md", Err(Code::OutsideRoot)),
        // A root is no prefix of its sibling, and a file is no root.
        (&["~/notes"], "~/notes-private/b.md", Err(Code::OutsideRoot)),
        (
            &["~/notes-private"],
            "~/notes-private/b.md",
            Ok("notes-private/b.md"),
        ),
        (&["~/notes/a.md"], "~/notes/a.md", Err(Code::OutsideRoot)),
        // Links count by where they lead.
        (&["~/notes"], "~/notes/out.md", Err(Code::OutsideRoot)),
        (&["~/notes"], "~/notes/dir/c.md", Err(Code::OutsideRoot)),
        (&["~/notes"], "~/in.md", Ok("notes/a.md")),
        (&["~/alias"], "~/notes/a.md", Ok("notes/a.md")),
        (&["~/store"], "~/kept/e.md", Ok("store/abc/kept/e.md")),
    ] {
        let read = home.found(roots, path);
        let real = |name: &str| home.path(name).parent().unwrap().to_owned();
        let expected = found.map(|name| (name.to_owned(), real(name)));
        assert_eq!(read, expected, "{roots:?} {path}");
    }
    let limit = home.resolve(none, "~/notes/a.md").unwrap().max_bytes;
    assert_eq!(limit, crate::limits::DEFAULT_MAX_BYTES);
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
        let home = Home::of(&[]);
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
