//! How often a list is found in code where it is not, and how often where it is:
//!
//!     cargo run --release --locked -p keyhole-withhold --example precision -- FOLDER...
//!
//! FOLDER has sources that somebody else published, such as those of crates after `cargo fetch`, or
//! a `node_modules`. Each line counts as an added one. The lists are not easy: short first names,
//! customers that are English words, hosts. Then each list's values are planted into lines of code.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "it reads what it is given, reports to a terminal, and fails"
)]

use keyhole_withhold::places;
use std::{collections::BTreeMap, env, fs, path::Path};

/// The lists, and in each the values that are planted.
const LISTS: [(&str, &str, [&str; 10]); 3] = [
    (
        "household",
        "# Names\n- Max Tallentire\n- Max\n- Ida Tallentire\n- Ida\n- Ben Okonjo-Pym\n- Ben\n- Una\n\n# Addresses\n- 27 Marrow Lane, Eldersby\n- Quillfield Primary\n\n# Phones\n- +44 7700 900461\n- una.tallentire@homepost.example\n- KX21 VWD\n",
        [
            "Max Tallentire",
            "Ida Tallentire",
            "Ben Okonjo-Pym",
            "27 Marrow Lane",
            "Quillfield Primary",
            "Max",
            "Ida",
            "+44 7700 900461",
            "una.tallentire",
            "KX21 VWD",
        ],
    ),
    (
        "customers",
        "# Customers\n- Summit\n- Blue Harbor\n- Halcyon\n- Northwind Traders\n- Orchard & Finch\n- Beacon\n- Wexel Foods\n\n# Projects\n- Project Marigold\n- Copper Kettle\n- Quiet Range\n",
        [
            "Summit",
            "Blue Harbor",
            "Halcyon",
            "Northwind Traders",
            "Orchard & Finch",
            "Beacon",
            "Wexel Foods",
            "Project Marigold",
            "Copper Kettle",
            "Quiet Range",
        ],
    ),
    (
        "hosts",
        "# Hosts\n- svc-deploy-ost\n- svc-deploy-west\n- db-7.internal.wexel.example\n- build-runner-03\n- 203.0.113.190\n- 2001:db8:47a:9::20\n\n# Accounts\n- kdvries\n- hfclerk02\n- ops_readonly\n- deploy-bot-nl\n",
        [
            "svc-deploy-ost",
            "svc-deploy-west",
            "db-7.internal.wexel.example",
            "build-runner-03",
            "203.0.113.190",
            "2001:db8:47a:9::20",
            "kdvries",
            "hfclerk02",
            "ops_readonly",
            "deploy-bot-nl",
        ],
    ),
];

/// So many bytes of sources are compared at once.
const AT_ONCE: usize = 1 << 20;

fn main() {
    let mut sources = vec![String::new()];
    for folder in env::args().skip(1) {
        read(Path::new(&folder), &mut sources);
    }
    let lines: usize = sources.iter().map(|text| text.lines().count()).sum();
    println!("{lines} lines of sources");
    for (name, list, values) in LISTS {
        let mut shown = Vec::new();
        let mut wrong = 0;
        for text in &sources {
            let mut last = None;
            for found in places(list, text) {
                let start = text[..found.at.start].rfind('\n').map_or(0, |at| at + 1);
                if last != Some(start) {
                    wrong += 1;
                    last = Some(start);
                    shown.push(text[found.at].to_owned());
                }
            }
        }
        let found = planted(values)
            .iter()
            .filter(|line| {
                let is_found = !places(list, line).is_empty();
                if !is_found {
                    println!("  {name}: not found in {line:?}");
                }
                is_found
            })
            .count();
        let rate = wrong as f64 * 1e3 / lines.max(1) as f64;
        println!("{name}: {found} of 40 found; {wrong} lines by mistake, {rate:.3} in 1,000");
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for one in shown {
            *counts.entry(one).or_default() += 1;
        }
        println!("  {counts:?}");
    }
}

/// Adds the sources in a folder, in texts of about [`AT_ONCE`] bytes.
fn read(folder: &Path, sources: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    entries.sort_by_key(|entry| entry.path());
    for entry in entries {
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            read(&path, sources);
        } else if matches!(
            ending,
            Some("rs" | "js" | "ts" | "md" | "toml" | "json" | "mjs")
        ) && let Ok(text) = fs::read_to_string(&path)
        {
            match sources.last_mut() {
                Some(last) if last.len() < AT_ONCE => *last += &text,
                _ => sources.push(text),
            }
        }
    }
}

/// Lines of code that have these values: each in a comment, a string, an identifier and a slug.
fn planted(values: [&str; 10]) -> Vec<String> {
    let mut lines = Vec::new();
    for value in values {
        let words: Vec<&str> = value
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let mut camel = String::new();
        for word in &words {
            let (first, rest) = word.split_at(1);
            camel += &first.to_uppercase();
            camel += rest;
        }
        lines.push(format!("    // as {value} asked for it"));
        lines.push(format!("    let owner = \"{value}\";"));
        lines.push(format!("    fn load{camel}() {{}}"));
        lines.push(format!(
            "url = \"/reports/{}/2\"",
            words.join("-").to_lowercase()
        ));
    }
    lines
}
