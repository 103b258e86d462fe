//! `keyhole contract`: a reviewer sees what is really in the program.

use keyhole::sandbox::COMPONENT;
use keyhole_tests::World;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

#[test]
fn size_and_sum_are_those_of_the_component() {
    let ran = World::new()
        .run(["contract"])
        .exits(0)
        .says_nothing_on_stderr();
    let mut lines = ran.stdout.lines();
    assert_eq!(
        lines.next().unwrap(),
        format!(
            "// The component in this program: {} bytes",
            COMPONENT.len()
        )
    );
    assert_eq!(
        lines.next().unwrap(),
        format!("// sha256:{}", sha256(COMPONENT))
    );
}

/// The SHA-256, computed by a program that is not ours.
fn sha256(bytes: &[u8]) -> String {
    let start = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    };
    // The first is on Linux, the second on macOS.
    let mut child = start("sha256sum", &[])
        .or_else(|_| start("shasum", &["-a", "256"]))
        .expect("sha256sum or shasum");
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn all_of_it_is_wit_and_says_what_the_committed_listing_says() {
    let ran = World::new().run(["contract"]).exits(0);
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("contract.wit", &ran.stdout).unwrap();
    let root = resolve.select_world(&[package], None).unwrap();
    assert_eq!(resolve.worlds[root].name, "root");
    let listing = include_str!("../../../guest/component.wit");
    assert!(ran.stdout.ends_with(listing), "{ran:?}");
}
