//! What the program is built of.

use keyhole_core::sandbox::COMPONENT;
use keyhole_tests::{binary, cargo, workspace};
use std::{collections::BTreeSet, fs};

/// Crates that turn wasm into machine code. With one of them in the program, a
/// file that a user can write might be compiled and run.
const COMPILERS: [&str; 4] = [
    "cranelift-codegen",
    "wasmtime-internal-cranelift",
    "wasmtime-internal-winch",
    "winch-codegen",
];

/// The crates that `package` is built of on the system `target`, itself among them: how many
/// steps down each is, and its name.
fn crates(package: &str, target: &str) -> BTreeSet<(u32, String)> {
    let tree = cargo()
        .args(["tree", "--locked", "--package", package, "--target", target])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "depth"])
        .args(["--format", " {p}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    let row = |line: &str| {
        let mut words = line.split(' ');
        (words.next()?.parse().ok()).zip(words.next().map(str::to_owned))
    };
    tree.lines().filter_map(row).collect()
}

/// The names of all crates that the program is built of there.
fn program(target: &str) -> BTreeSet<String> {
    let crates = crates("keyhole", target).into_iter();
    crates.map(|(_, name)| name).collect()
}

/// A system of each kind that we have a program for.
const SYSTEMS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"];

#[test]
fn the_program_depends_on_no_compiler() {
    let program = program(SYSTEMS[0]);
    assert!(program.contains("wasmtime"));
    for compiler in COMPILERS.into_iter().chain(["keyhole-componentize"]) {
        assert!(!program.contains(compiler), "{compiler}");
    }
}

/// Cargo lets a crate use only what it depends on directly. Below the walk, the wall and
/// what decides there is no protocol at all.
#[test]
fn each_part_of_the_program_knows_only_the_parts_below_it() {
    let none = "wasmtime tokio toml rmcp";
    for (package, ours, strangers, steps) in [
        ("walk", &[][..], none, u32::MAX),
        ("wall", &[], none, u32::MAX),
        ("withhold", &[], none, u32::MAX),
        ("claude", &["core", "walk"], "wasmtime tokio toml rmcp", 1),
        (
            "setup",
            &["claude", "core", "walk"],
            "wasmtime tokio rmcp",
            1,
        ),
        (
            "serve",
            &["claude", "core", "mcp", "walk", "wall", "withhold"],
            "wasmtime toml rmcp",
            1,
        ),
        (
            "gate",
            &[
                "claude", "core", "outgoing", "serve", "walk", "wall", "withhold",
            ],
            "wasmtime tokio toml rmcp",
            1,
        ),
        ("core", &["engine", "walk"], "rmcp serde_json", u32::MAX),
        ("mcp", &["core"], "wasmtime toml rustix", 1),
    ] {
        for system in SYSTEMS {
            let mut direct = Vec::new();
            for (step, name) in crates(&format!("keyhole-{package}"), system) {
                let is_stranger = strangers.split(' ').any(|stranger| stranger == name);
                assert!(step > steps || !is_stranger, "{package} knows {name}");
                if let (1, Some(name)) = (step, name.strip_prefix("keyhole-")) {
                    direct.push(name.to_owned());
                }
            }
            assert_eq!(direct, ours, "{package}");
        }
    }
}

#[test]
fn every_crate_in_the_program_has_a_line_that_says_why() {
    let page = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let (_, section) = page.split_once("\n## Crates\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let lists = rows.filter_map(|row| row.split('|').nth(2));
    let named: BTreeSet<String> = lists
        .flat_map(|list| list.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let mut built_of: BTreeSet<String> = SYSTEMS.into_iter().flat_map(program).collect();
    built_of.retain(|name| !name.starts_with("keyhole"));
    let differ: Vec<_> = built_of.symmetric_difference(&named).collect();
    assert!(
        differ.is_empty(),
        "only in the program, or only in CONTRIBUTING.md: {differ:?}"
    );
}

/// A test cannot measure it.
#[test]
fn keys_are_compared_in_constant_time() {
    for file in ["map/key.rs", "sandbox/reach.rs"] {
        let source = workspace().join("host/core/src").join(file);
        let source = fs::read_to_string(source).unwrap();
        assert_eq!(source.matches(".ct_eq(").count(), 1, "{file}");
    }
}

#[test]
fn the_program_contains_no_compiler() {
    let program = fs::read(binary()).unwrap();
    let program = String::from_utf8_lossy(&program);
    // A crate's name is in its symbols and in the locations of its panics. So the
    // runtime's name is in the program, and a compiler's would be too.
    assert!(program.contains("wasmtime"));
    for compiler in COMPILERS {
        for name in [compiler, &compiler.replace('-', "_")] {
            assert!(!program.contains(name), "{name}");
        }
    }
}

/// The component that this package's build script builds from a copy of the sources.
const ELSEWHERE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/elsewhere.wasm"));

#[test]
fn the_component_is_the_same_wherever_it_is_built() {
    // The name of the copy's directory is not in it either.
    let holds = |part: &[u8]| ELSEWHERE.windows(part.len()).any(|found| found == part);
    assert!(!holds(b"a copy") && !holds(env!("OUT_DIR").as_bytes()));
    assert!(
        COMPONENT == ELSEWHERE,
        "{} bytes here, {} bytes elsewhere",
        COMPONENT.len(),
        ELSEWHERE.len()
    );
}
