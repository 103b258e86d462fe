//! What the program is built of.

use keyhole::sandbox::COMPONENT;
use keyhole_tests::{binary, cargo, workspace};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

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
    // A crate's name is in its symbols and in the locations of its panics. So the
    // runtime's name is in the program, and a compiler's would be too.
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

/// All code of a module of the host, without its tests and comments.
fn code(directory: &Path) -> String {
    let mut code = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name.ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            code += &self::code(&path);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().map(str::trim_start) {
            if !line.starts_with("//") {
                code = code + line + "\n";
            }
        }
    }
    code
}

#[test]
fn modules_know_what_architecture_says_and_no_more() {
    // The names that each module must not use, with their exceptions.
    for (module, strangers, but) in [
        (
            "mcp",
            &["map", "sandbox", "seal", "guard", "wasmtime", "toml"][..],
            &[
                "map::{Binding, BindingName, Key}",
                "map::Maps",
                "sandbox::Executor",
            ][..],
        ),
        (
            "map",
            &["mcp", "sandbox", "loader", "rmcp", "wasmtime"],
            &[],
        ),
        ("sandbox", &["map", "mcp", "Loader", "rmcp", "toml"], &[]),
        (
            "walk",
            &["map", "mcp", "sandbox", "loader", "Code", "Grant"],
            &[],
        ),
    ] {
        let mut code = code(&workspace().join("host/src").join(module));
        assert!(code.contains("use crate::"), "{module}");
        for known in but {
            assert!(code.contains(known), "{module} does not need {known}");
            code = code.replace(known, "");
        }
        let paths = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let segments: BTreeSet<&str> = paths
            .filter(|path| path.contains("::"))
            .flat_map(|path| path.split("::"))
            .collect();
        for stranger in strangers {
            assert!(!segments.contains(stranger), "{module} names {stranger}");
        }
    }
}

/// The host's modules, from the bottom to the top. Each may use those of the lines
/// above it here, on each system, and no other of its own line. So no two use each
/// other.
const LAYERS: [&[&str]; 19] = [
    &[
        "agent",
        "arenas",
        "code",
        "engine",
        "grant",
        "hex",
        "os_error",
        "printable",
        "settle",
    ],
    &["limits", "walk"],
    &["os"],
    &["sandbox"],
    &["contract"],
    &["ticket"],
    &["caller", "seal"],
    &["map"],
    &["gates", "guesses", "threads"],
    &["call"],
    &["watch"],
    &["loader"],
    &["mcp", "resources"],
    &["serve"],
    &["usage"],
    &["check"],
    &["demo", "guard", "setup", "shell"],
    &["cli"],
    &["main"],
];

#[test]
fn no_module_of_the_host_uses_one_above_it() {
    let host = workspace().join("host/src");
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut upwards = BTreeSet::new();
    for path in sources(&host) {
        let name = path.strip_prefix(&host).unwrap();
        let module = name.iter().next().unwrap().to_str().unwrap();
        let module = module.trim_end_matches(".rs").trim_end_matches("_windows");
        if module == "lib" || name.to_str().unwrap().contains("tests") {
            continue;
        }
        let own = layer(module).unwrap_or_else(|| panic!("{module} has no layer"));
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        // What is imported from the root itself is no module, so it has no layer.
        for used in code.split("crate::").skip(1).flat_map(first_segments) {
            if used != module && layer(&used).is_none_or(|used| used >= own) {
                upwards.insert(format!("{} uses {used}", name.display()));
            }
        }
    }
    assert_eq!(upwards, BTreeSet::new());
}

/// The first names of the paths that stand after `crate::`: one, or a group in braces.
fn first_segments(after: &str) -> Vec<String> {
    let end = |c: char| !(c.is_alphanumeric() || c == '_');
    let Some(group) = after.strip_prefix('{') else {
        return vec![after.split(end).next().unwrap().to_owned()];
    };
    let (mut depth, mut names) = (1, vec![String::new()]);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(String::new()),
            c if depth == 1 => names.last_mut().unwrap().push(c),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    let first = |name: String| name.trim().split(end).next().unwrap().to_owned();
    let names = names.into_iter().map(first);
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_modules_in_an_import_are_found() {
    let group = "{code::Code, map::{Key, Map}, os, Grant, }; use std::fs;";
    assert_eq!(first_segments(group), ["code", "map", "os", "Grant"]);
    assert_eq!(first_segments("Key::try_from(1)"), ["Key"]);
}

/// The code outside the walk that looks up a path: not a path of the user's, or only
/// to write what the user asked for.
const LOOK_UPS: [&str; 7] = [
    // `contract --save FILE`.
    "cli.rs: fs::write(",
    // This process's own threads.
    "seal/linux.rs: fs::metadata(",
    "seal/linux.rs: fs::read_dir(",
    // In an open directory, by cap-std.
    "sandbox/granted_unix.rs: OpenOptions::new(",
    "sandbox/granted_windows.rs: OpenOptions::new(",
    // FUSE mounts, which the kernel lists.
    "walk/linux.rs: fs::read_to_string(",
    // The name of this program, to print it.
    "setup/program.rs: .canonicalize()",
];

#[test]
fn only_the_walk_turns_a_path_into_an_open_file() {
    let host = workspace().join("host/src");
    let mut found = BTreeSet::new();
    for path in sources(&host) {
        let name = path.strip_prefix(&host).unwrap().to_str().unwrap();
        // The demonstration makes its files itself.
        if name.contains("tests") || name.starts_with("demo/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for looks_up in [
            "fs::open(",
            "fs::read(",
            "fs::read_to_string(",
            "fs::read_dir(",
            "fs::read_link(",
            "fs::write(",
            "fs::metadata(",
            "fs::symlink_metadata(",
            "fs::canonicalize(",
            "fs::stat(",
            " File::open(",
            "fs::File::open(",
            "File::create(",
            "OpenOptions::new(",
            "CWD",
            "ambient_authority",
            ".exists()",
            ".canonicalize()",
        ] {
            // `/` is where each walk begins.
            let begins = name.starts_with("walk/") && looks_up == "CWD";
            if code.contains(looks_up) && !begins {
                found.insert(format!("{name}: {looks_up}"));
            }
        }
    }
    assert_eq!(found, LOOK_UPS.map(str::to_owned).into());
}

#[test]
fn only_two_files_of_the_program_hold_code_that_the_compiler_cannot_check() {
    let workspace = workspace();
    let mut found = BTreeSet::new();
    for directory in ["componentize/src", "guest/src", "host/src"] {
        for path in sources(&workspace.join(directory)) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            if code
                .flat_map(str::split_whitespace)
                .any(|w| w.trim_start_matches('(') == "unsafe")
            {
                let name = path.strip_prefix(workspace).unwrap();
                found.insert(name.to_str().unwrap().to_owned());
            }
        }
    }
    // The image of the component, and the calls to Windows.
    let known = [
        "host/src/sandbox/embedded.rs",
        "host/src/walk/windows/api.rs",
    ];
    assert_eq!(found, known.map(str::to_owned).into());
}

/// All source files in a directory and those in it.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(sources(&path)),
            false => all.push(path),
        }
    }
    all
}
