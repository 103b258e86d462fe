//! What only Linux lets us test: names that are not UTF-8, an atomic exchange of two
//! names, and root without its privileges.

use super::read;
use crate::{code::Code, map::tests::Tree};
use cap_std::fs::MetadataExt as _;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    thread::{CapabilitySet, capabilities, set_capabilities},
};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt as _, symlink},
    },
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

#[test]
fn a_real_name_that_is_not_utf_8_is_refused() {
    let home = Tree::of(&[]);
    let name = OsStr::from_bytes(b"\xff.md");
    fs::write(home.path("").join(name), "").unwrap();
    symlink(name, home.path("a.md")).unwrap();
    assert_eq!(home.resolve(&[], "~/a.md").unwrap_err(), Code::NotMarkdown);
}

#[test]
fn a_directory_swapped_with_a_link_never_leads_outside() {
    let home = Tree::of(&["notes/sub/deep/a.md", "private/deep/a.md"]);
    home.link("notes/evil", "../private");
    let (sub, evil) = (home.path("notes/sub"), home.path("notes/evil"));
    let inside = fs::metadata(sub.join("deep")).unwrap().ino();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                renameat_with(CWD, &sub, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let outcomes: Vec<_> = (0..3000)
            .map(|_| home.resolve(&["~/notes"], "~/notes/sub/deep/a.md"))
            .map(|outcome| outcome.map(|resolved| resolved.directory.dir_metadata().unwrap().ino()))
            .collect();
        done.store(true, Ordering::SeqCst);
        assert!(outcomes.contains(&Ok(inside)));
        for outcome in outcomes {
            assert!(
                matches!(outcome, Err(Code::OutsideRoot | Code::NotFound)) || outcome == Ok(inside),
                "{outcome:?}"
            );
        }
    });
}

/// Runs without the privileges that let root read everything, if this is root.
fn unprivileged<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    // Capabilities belong to the thread.
    thread::scope(|scope| {
        scope
            .spawn(|| {
                let mut sets = capabilities(None).unwrap();
                sets.effective
                    .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
                set_capabilities(None, sets).unwrap();
                run()
            })
            .join()
            .unwrap()
    })
}

#[test]
fn a_directory_that_may_not_be_searched_is_permission_denied() {
    let home = Tree::of(&["shut/a.md"]);
    home.mode("shut", 0o600);
    assert_eq!(
        unprivileged(|| home.resolve(&[], "~/shut/a.md").unwrap_err()),
        Code::PermissionDenied
    );
    home.mode("shut", 0o700);
}

#[test]
fn a_directory_that_may_be_searched_but_not_listed_will_do() {
    let home = Tree::of(&["quiet/a.md", "quiet/deep/b.md"]);
    home.link("quiet/link.md", "../quiet/a.md");
    home.mode("quiet", 0o300);
    unprivileged(|| {
        assert!(fs::read_dir(home.path("quiet")).is_err());
        let resolved = home.resolve(&["~/quiet"], "~/quiet/a.md").unwrap();
        assert_eq!(read(&resolved), "quiet/a.md");
        // The runtime through which the guest reads does the same.
        let directory = resolved.directory;
        assert_eq!(directory.read_to_string("a.md").unwrap(), "quiet/a.md");
        assert!(directory.open("../quiet/a.md").is_err());
        assert_eq!(
            home.found(&[], "~/quiet/deep/b.md").unwrap().0,
            "quiet/deep/b.md"
        );
    });
    home.mode("quiet", 0o700);
}
