//! What only Linux lets us test: names that are not UTF-8, and root without its privileges.

use super::{Home, read};
use crate::code::Code;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    thread,
};

#[test]
fn a_real_name_that_is_not_utf_8_is_refused() {
    let home = Home::of(&[]);
    let name = OsStr::from_bytes(b"\xff.md");
    fs::write(home.path("").join(name), "").unwrap();
    symlink(name, home.path("a.md")).unwrap();
    assert_eq!(home.resolve(&[], "~/a.md").unwrap_err(), Code::NotMarkdown);
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
fn a_directory_that_may_be_searched_but_not_listed_will_do() {
    let home = Home::of(&["quiet/a.md", "quiet/deep/b.md"]);
    home.0.link("quiet/link.md", "../quiet/a.md");
    home.0.mode("quiet", 0o300);
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
    home.0.mode("quiet", 0o700);
}
