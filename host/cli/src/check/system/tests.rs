//! What each system makes of the same facts.

use super::{folders_of_tasks, keeps};
use std::{io, path::PathBuf};

#[test]
fn only_on_macos_is_eperm_about_the_app() {
    for (system, error, is_kept) in [
        ("macos", 1, true),
        ("macos", 13, false),
        ("linux", 1, false),
        ("windows", 1, false),
    ] {
        let open = || Err::<(), _>(io::Error::from_raw_os_error(error));
        assert_eq!(keeps(system, open), is_kept, "{system} {error}");
    }
    assert!(!keeps("macos", || Ok(())));
}

/// The system, CLAUDE_CODE_TMPDIR, the temporary folder, and where the tasks are.
const FOLDERS: [(&str, &str, &str, &[&str]); 10] = [
    ("linux", "", "/tmp", &["/tmp/claude-*"]),
    ("linux", "", "/t", &["/t/claude-*"]),
    ("linux", "", "/t/claude-7", &["/t/claude-*"]),
    ("linux", "/x", "/t", &["/x/claude-*"]),
    ("linux", "/private/tmp", "/t", &["/private/tmp/claude-*"]),
    // The client takes no notice of TMPDIR there.
    (
        "macos",
        "",
        "/var/folders/zz/T/",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    ("macos", "/x", "/var/folders/zz/T/", &["/x/claude-*"]),
    (
        "macos",
        "/tmp/claude-501",
        "/tmp",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    (
        "macos",
        "/private/tmp/claude-501",
        "/tmp",
        &["/tmp/claude-*", "/private/tmp/claude-*"],
    ),
    (
        "macos",
        "/private/var/x",
        "/tmp",
        &["/var/x/claude-*", "/private/var/x/claude-*"],
    ),
];

#[test]
fn on_macos_the_tasks_are_in_tmp_whatever_tmpdir_says() {
    for (system, own, usual, folders) in FOLDERS {
        let found = folders_of_tasks(system, Some(PathBuf::from(own)), usual.into());
        let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        assert_eq!(found, expected, "{system} {own:?} {usual}");
    }
    assert_eq!(
        folders_of_tasks("linux", None, "/t".into()),
        [PathBuf::from("/t/claude-*")]
    );
}

/// A folder of macOS's has a list that only denies, which must stay.
#[cfg(unix)]
#[test]
fn an_access_list_is_removed_from_a_file_and_from_no_folder() {
    use super::super::way;
    use keyhole_tree::Tree;
    use keyhole_walk::{Distrust, Why};
    let tree = Tree::of(&["d/a.md"]);
    for (name, is_file) in [("d/a.md", true), ("d", false)] {
        let distrust = Distrust {
            path: tree.path(name),
            why: Why::AccessList,
        };
        let (said, _) = way::cure(&distrust, &tree.path("d/a.md"));
        assert!(said.contains("by its access list"), "{said}");
        assert_eq!(said.contains(". Run: ls -led "), is_file, "{said}");
        assert_eq!(said.contains("/d/a.md && chmod -N "), is_file, "{said}");
        assert_eq!(said.contains("keep \"deny delete\""), !is_file, "{said}");
    }
}
