//! The tests that the documents cite exist, and the files that they link to.

use super::{DOCUMENTS, headings, read, slug};
use keyhole_tests::workspace;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file with tests in it, under the name of its module.
struct Source {
    module: PathBuf,
    text: String,
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for directory in ["host", "guest", "tests/tests", "tests/model"] {
        collect(&workspace().join(directory), &mut sources);
    }
    for entry in fs::read_dir(workspace().join("tests/client")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            sources.push(Source {
                module: "tests/client".into(),
                text: fs::read_to_string(path).unwrap(),
            });
        }
    }
    // Lists make their tests; each test has a line in this page.
    for made in [
        "guest", "imports", "map", "names", "shapes", "swaps", "tree",
    ] {
        sources.push(Source {
            module: Path::new("tests/tests/hostile").join(made),
            text: read("tests/tests/hostile/attacks.md"),
        });
    }
    sources
}

fn collect(directory: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = match path.file_stem().and_then(|stem| stem.to_str()) {
                Some("mod" | "main") => directory.to_owned(),
                _ => path.with_extension(""),
            };
            // A crate's name stands before its module: `walk::trust`.
            let module = module.iter().filter(|part| *part != "src").collect();
            let text = fs::read_to_string(&path).unwrap();
            sources.push(Source { module, text });
        }
    }
}

/// The tests that are cited between backticks, in the form `module::name`.
fn citations(text: &str) -> Vec<&str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:-".contains(c);
    let quoted = text.split('`').skip(1).step_by(2);
    let is_one = |quoted: &&str| quoted.contains("::") && quoted.chars().all(is_plain);
    quoted.filter(is_one).collect()
}

/// Marks of a test. The last three: what a list makes, and the wall's tests, each in a process
/// of its own.
const TESTS: [&str; 6] = [
    "#[test]",
    "#[tokio::test",
    "Trial::test(",
    "\n| `",
    ": &World) {",
    "(world: &World, wall: Wall) {",
];

/// Whether there is such a test, or a module in which there are tests, or below which.
fn is_there(cited: &str, sources: &[Source]) -> bool {
    let (module, name) = cited.rsplit_once("::").unwrap();
    let definitions = [
        format!("fn {name}("),
        format!("Trial::test(\"{name}\""),
        format!("onEachClient('{name}: "),
        format!("onEachClient(\"{name}: "),
        format!("onEachShell('{name}: "),
        format!("onEachShell(\"{name}: "),
        format!("\n| `{name}` | "),
    ];
    let module = Path::new(&module.replace("::", "/")).to_owned();
    let whole = module.join(name);
    sources.iter().any(|Source { module: its, text }| {
        let is_beneath = its.ancestors().any(|above| above.ends_with(&whole));
        (its.ends_with(&module) && definitions.iter().any(|known| text.contains(known)))
            || (is_beneath && TESTS.iter().any(|mark| text.contains(mark)))
    })
}

#[test]
fn every_test_that_is_cited_exists() {
    let sources = sources();
    let this = "every_test_that_is_cited_exists";
    assert!(is_there(&format!("docs::citations::{this}"), &sources));
    assert!(!is_there(&format!("secrecy::{this}"), &sources));
    assert!(!is_there("citations::no_test_of_this_name", &sources));
    assert!(is_there("docs::citations", &sources) && !is_there("docs::no_room", &sources));

    for document in DOCUMENTS.into_iter().chain(["tests/client/README.md"]) {
        let text = read(document);
        let mut missing = citations(&text);
        missing.retain(|cited| !is_there(cited, &sources));
        assert!(
            missing.is_empty(),
            "{document}: no such tests: {missing:#?}"
        );
    }
}

/// Cargo says nothing of a file that no other file names, and its tests never run.
#[test]
fn every_file_of_these_tests_is_a_part_of_them() {
    let mut all = Vec::new();
    collect(&workspace().join("tests/tests"), &mut all);
    let declared = |module: &Path| {
        let name = module.file_name().unwrap().to_str().unwrap();
        let mut above = all
            .iter()
            .filter(|one| module.parent() == Some(&one.module));
        above.any(|one| one.text.contains(&format!("mod {name};\n")))
    };
    for Source { module, .. } in &all {
        let is_root = module.ends_with("tests/tests");
        assert!(is_root || declared(module), "{}", module.display());
    }
}

/// The heading of the last table of docs/promises.md.
const BREAKS: &str = "\n## What broke others\n";

#[test]
fn every_promise_cites_a_test() {
    let page = read("docs/promises.md");
    let (promises, _) = page.split_once(BREAKS).unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| promise |");
    let rows: Vec<&str> = promises.lines().filter(is_row).collect();
    assert!(rows.len() > 20, "{rows:#?}");
    for row in rows {
        assert!(!citations(row).is_empty(), "{row}");
    }
}

#[test]
fn each_known_break_has_a_source_and_cites_a_test() {
    let page = read("docs/promises.md");
    let (_, breaks) = page.split_once(BREAKS).unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| source |");
    let rows: Vec<&str> = breaks.lines().filter(is_row).collect();
    assert!(rows.len() > 15, "{rows:#?}");
    for row in rows {
        let seen = row.contains("(seen") || row.contains("](https://");
        assert!(seen && !citations(row).is_empty(), "{row}");
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut missing = Vec::new();
    let others = [
        "CHANGELOG.md",
        "benches/README.md",
        "integrations/bernstein/README.md",
        "release/README.md",
        "tests/README.md",
        "tests/client/README.md",
        "tests/clients/README.md",
        "tests/interop/README.md",
        "wit/README.md",
    ];
    for document in DOCUMENTS.into_iter().chain(others) {
        let text = read(document).replace("src=\"", "](");
        for link in text.split("](").skip(1) {
            let target = link.split([')', '"']).next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let page = workspace().join(document);
            let linked = match file {
                "" => page,
                file => page.with_file_name(file),
            };
            let has_heading = || {
                let text = fs::read_to_string(&linked).unwrap_or_default();
                headings(&text).into_iter().any(|one| slug(one) == anchor)
            };
            let is_there = linked.exists() && (anchor.is_empty() || has_heading());
            if !target.contains("://") && !is_there {
                missing.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
