//! `keyhole contract`: a reviewer sees what is really in the program.

use keyhole_core::sandbox::COMPONENT;
use keyhole_tests::{MARKER, World};
use sha2::{Digest as _, Sha256};

/// What a person reads before allowing the server, on one screen.
#[test]
fn it_says_on_one_screen_what_could_be_touched_and_nothing_that_is_secret() {
    let world = World::new()
        .file("notes/a.md", MARKER)
        .map("[keys]\nk-hunter2-7f3a9c55aa01beef = '~/notes/a.md'\nk-hunter2-c55aa01beef7f3a9 = '~/notes/b.md'\n");
    let ran = world.run(["contract"]).exits(0).says_nothing_on_stderr();
    assert!(ran.stdout.lines().count() <= 24, "{ran:?}");
    // What differs between systems and compilers.
    let size = format!("{} bytes, ", COMPONENT.len());
    let sum = format!("sha256:{}", sha256(COMPONENT));
    let (screen, wall) = ran.stdout.split_once("\nwall: ").unwrap();
    assert_ne!(wall, "");
    let screen = screen.replace(&size, "SIZE bytes, ");
    insta::assert_snapshot!(screen.replace(&sum, "sha256:SUM"));
    // Without a map there is something to read as well.
    let _ = World::new()
        .env("CLICOLOR_FORCE", "1")
        .run(["contract", "--color=never"])
        .exits(0)
        .mentions("error: map-missing");
    let _ = World::new().homeless().run(["contract"]).exits(1).says("");
}

fn sha256(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn all_of_it_is_wit_and_says_what_the_component_is_and_what_the_committed_listing_says() {
    let ran = World::new().run(["contract", "--wit"]).exits(0);
    let ran = ran.says_nothing_on_stderr();
    let (size, sum) = (COMPONENT.len(), sha256(COMPONENT));
    let head = format!("// The component in this program: {size} bytes\n// sha256:{sum}\n");
    assert!(ran.stdout.starts_with(&head), "{ran:?}");
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("contract.wit", &ran.stdout).unwrap();
    let root = resolve.select_world(&[package], None).unwrap();
    assert_eq!(resolve.worlds[root].name, "root");
    let listing = include_str!("../../../guest/component.wit");
    assert!(ran.stdout.ends_with(listing), "{ran:?}");
}
