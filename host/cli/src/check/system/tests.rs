//! What each system makes of the same facts.

use super::keeps;
use std::io;

#[test]
fn only_on_macos_is_eperm_about_the_app() {
    for (system, error, is_kept) in [
        ("macos", 1, true),
        ("macos", 13, false),
        ("linux", 1, false),
    ] {
        let open = || Err::<(), _>(io::Error::from_raw_os_error(error));
        assert_eq!(keeps(system, open), is_kept, "{system} {error}");
    }
    assert!(!keeps("macos", || Ok(())));
}

/// A folder of macOS's has a list that only denies, which must stay.
#[test]
fn an_access_list_is_removed_from_a_file_and_from_no_folder() {
    use super::super::way;
    use keyhole_tree::Tree;
    use keyhole_walk::{Distrust, DistrustReason};
    let tree = Tree::of(&["d/a.md"]);
    for (name, is_file) in [("d/a.md", true), ("d", false)] {
        let distrust = Distrust {
            path: tree.path(name),
            why: DistrustReason::AccessList,
        };
        let (said, _) = way::cure(&distrust, &tree.path("d/a.md"));
        assert!(said.contains("by its access list"), "{said}");
        assert_eq!(said.contains(". Run: ls -led "), is_file, "{said}");
        assert_eq!(said.contains("/d/a.md && chmod -N "), is_file, "{said}");
        assert_eq!(said.contains("keep \"deny delete\""), !is_file, "{said}");
    }
}
