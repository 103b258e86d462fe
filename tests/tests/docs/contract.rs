//! `docs/contract.md` is the contract, rendered for reading.

use super::{is_committed, read, slug};
use wit_bindgen_core::Files;
use wit_parser::Resolve;

const RENDERED: &str = "docs/contract.md";

/// The contract and what it imports, in the order in which they build on each
/// other.
const PACKAGES: [&str; 4] = [
    "wit/deps/io/package.wit",
    "wit/deps/clocks/package.wit",
    "wit/deps/filesystem/package.wit",
    "wit/context.wit",
];

const HEAD: &str = "\
<!-- Made from wit/context.wit by `./x bless`; change that instead. -->

# The contract

";
const WASI: &str = "\
## WASI's own interfaces

They are WASI's, unchanged, and documented where they stand: \
[wit/deps/filesystem](../wit/deps/filesystem/package.wit). What of them the built \
component still imports is in [guest/component.wit](../guest/component.wit).
";

/// The package's own text, its world, and its interfaces. WASI's interfaces are left
/// out: they are thirty pages, and not ours.
fn rendered() -> String {
    let mut resolve = Resolve::default();
    let mut contract = None;
    for path in PACKAGES {
        contract = Some(resolve.push_str(path, &read(path)).unwrap());
    }
    let contract = contract.unwrap();
    let world = resolve.select_world(&[contract], None).unwrap();
    let words = resolve.packages[contract].docs.contents.clone().unwrap();

    let mut files = Files::default();
    wit_bindgen_markdown::Opts::default()
        .build()
        .generate(&mut resolve, world, &mut files)
        .unwrap();
    let markdown = files.remove("context-loader.md").unwrap();
    let markdown = String::from_utf8(markdown).unwrap();

    let mut text = format!("{HEAD}{}\n\n", words.replace("\n# ", "\n## "));
    let mut ours = true;
    for line in markdown.lines() {
        if line.starts_with("# ") || line.starts_with("## ") {
            ours = line.starts_with("# ") || line.contains("keyhole:context/");
        }
        if ours {
            // One title for each page.
            text.push_str(if line.starts_with("# ") { "#" } else { "" });
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    with_links_to_headings(text) + "\n" + WASI
}

/// The generator links to anchors of its own; this page has headings, and the links lead to
/// those.
fn with_links_to_headings(mut text: String) -> String {
    while let Some((before, rest)) = text.split_once("<a id=\"") {
        let (id, after) = rest.split_once("\"></a>").unwrap();
        let heading = after.lines().next().unwrap();
        let is_heading = before.lines().next_back().unwrap().starts_with('#');
        let (from, to) = (format!("](#{id})"), format!("](#{})", slug(heading)));
        let whole = format!("{before}{after}");
        text = match is_heading {
            true => whole.replace(&from, &to),
            false => whole,
        };
    }
    text
}

#[test]
fn the_rendered_contract_is_that_of_the_wit() {
    let rendered = rendered();
    for part in ["# What a key is", "`find: func`", "`enum load-error`"] {
        assert!(rendered.contains(part), "no {part} in\n{rendered}");
    }
    is_committed(RENDERED, &rendered);
}
