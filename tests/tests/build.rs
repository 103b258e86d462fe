//! What the program is built of.

use keyhole::sandbox::COMPONENT;
use keyhole_tests::{binary, cargo};
use std::fs;

/// Crates that turn wasm into machine code. With one of them in the program, a
/// file that a user can write might be compiled and run.
const COMPILERS: [&str; 4] = [
    "cranelift-codegen",
    "wasmtime-internal-cranelift",
    "wasmtime-internal-winch",
    "winch-codegen",
];

#[test]
fn the_program_depends_on_no_compiler() {
    let tree = cargo()
        .args(["tree", "--locked", "--package", "keyhole"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    let holds = |name: &str| {
        tree.lines()
            .any(|line| line.split(' ').next() == Some(name))
    };
    assert!(holds("wasmtime"), "{tree}");
    for compiler in COMPILERS {
        assert!(!holds(compiler), "{compiler} is in\n{tree}");
    }
}

#[test]
fn the_program_contains_no_compiler() {
    let program = fs::read(binary()).unwrap();
    let names: Vec<String> = COMPILERS
        .iter()
        .flat_map(|name| [(*name).to_owned(), name.replace('-', "_")])
        .collect();
    // A crate's name stands in its symbols and in the places of its panics: so
    // the run time's is there, and a compiler's would be.
    let (mut run_time, mut compilers) = (false, Vec::new());
    for (at, first) in program.iter().enumerate() {
        if matches!(first, b'c' | b'w') {
            let here = &program[at..];
            run_time |= here.starts_with(b"wasmtime");
            compilers.extend(
                names
                    .iter()
                    .filter(|name| here.starts_with(name.as_bytes())),
            );
        }
    }
    assert!(run_time);
    assert_eq!(compilers, [] as [&String; 0]);
}

/// Built by this package's build script, of a copy of the sources.
const ELSEWHERE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/elsewhere.wasm"));

#[test]
fn the_component_is_the_same_wherever_it_is_built() {
    // Where it lay, in a directory of that name, is not in it either.
    let holds = |part: &[u8]| ELSEWHERE.windows(part.len()).any(|found| found == part);
    assert!(!holds(b"a copy") && !holds(env!("OUT_DIR").as_bytes()));
    assert!(
        COMPONENT == ELSEWHERE,
        "{} bytes here, {} bytes elsewhere",
        COMPONENT.len(),
        ELSEWHERE.len()
    );
}
