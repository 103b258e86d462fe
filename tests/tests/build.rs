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

/// The names of the crates that `package` is built of on the system `target`, itself among
/// them, so many steps down.
fn crates(package: &str, target: &str, depth: &str) -> BTreeSet<String> {
    let tree = cargo()
        .args(["tree", "--locked", "--package", package, "--target", target])
        .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
        .args(["--format", "{p}", "--depth", depth])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// A system of each kind that we have a program for.
const SYSTEMS: [&str; 3] = [
    "x86_64-unknown-linux-musl",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-gnu",
];

#[test]
fn the_program_depends_on_no_compiler() {
    let program = crates("keyhole", SYSTEMS[0], "99");
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
    for (package, ours, strangers, depth) in [
        ("walk", &[][..], none, "99"),
        ("wall", &[], none, "99"),
        ("core", &["engine", "walk"], "rmcp serde_json", "99"),
        ("mcp", &["core"], "wasmtime toml rustix", "1"),
    ] {
        let package = format!("keyhole-{package}");
        for system in SYSTEMS {
            let known = crates(&package, system, depth);
            for stranger in strangers.split(' ') {
                assert!(!known.contains(stranger), "{package} knows {stranger}");
            }
            let mut direct = crates(&package, system, "1");
            direct.remove(&package);
            let direct = direct.iter();
            let direct: Vec<_> = direct
                .filter_map(|name| name.strip_prefix("keyhole-"))
                .collect();
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
    let mut built_of: BTreeSet<String> = SYSTEMS
        .into_iter()
        .flat_map(|system| crates("keyhole", system, "99"))
        .collect();
    built_of.retain(|name| !name.starts_with("keyhole"));
    let differ: Vec<_> = built_of.symmetric_difference(&named).collect();
    assert!(
        differ.is_empty(),
        "only in the program, or only in CONTRIBUTING.md: {differ:?}"
    );
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
