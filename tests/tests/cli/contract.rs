//! `keyhole contract`: a reviewer sees what is really in the program.

use keyhole_core::sandbox::COMPONENT;
use keyhole_tests::World;
use sha2::{Digest as _, Sha256};

#[test]
fn all_of_it_is_wit_and_says_what_the_component_is_and_what_the_committed_listing_says() {
    let ran = World::new().run(["contract"]).exits(0);
    let ran = ran.says_nothing_on_stderr();
    let (size, sum) = (COMPONENT.len(), Sha256::digest(COMPONENT));
    let head = format!("// The component in this program: {size} bytes\n// sha256:{sum:x}\n");
    assert!(ran.stdout.starts_with(&head), "{ran:?}");
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("contract.wit", &ran.stdout).unwrap();
    let root = resolve.select_world(&[package], None).unwrap();
    assert_eq!(resolve.worlds[root].name, "root");
    let listing = include_str!("../../../guest/component.wit");
    assert!(ran.stdout.ends_with(listing), "{ran:?}");
}
