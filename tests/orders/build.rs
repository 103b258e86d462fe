//! Takes the host's own files, as they are, and makes them use `shim`: it changes the
//! first part of paths that begin with `std`, `tokio`, `rustix` and `crate`, and leaves
//! out unit tests. It also makes the changes that `breaks.rs` lists, each behind a
//! switch that is off, and no others.
//!
//! If the code in a line of `breaks.rs` is not in the host's file exactly once, the build
//! fails: whoever changes the host has to say what the broken variant is now.

use std::{env, fs, path::Path};

#[allow(unreachable_pub, reason = "the tests read it too")]
#[path = "breaks.rs"]
mod breaks;

const FILES: &[&str] = &[
    "agent.rs",
    "call.rs",
    "caller.rs",
    "code.rs",
    "gates.rs",
    "guesses.rs",
    "hex.rs",
    "limits.rs",
    "loader.rs",
    "map/key.rs",
    "map/source.rs",
    "mcp/escape.rs",
    "mcp/pending.rs",
    "mcp/json.rs",
    "mcp/line.rs",
    "mcp/message.rs",
    "mcp/refusals.rs",
    "mcp/transport.rs",
    "sandbox/lazy.rs",
    "threads.rs",
    "ticket.rs",
    "ticket/unix.rs",
    "watch.rs",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=breaks.rs");
    for file in FILES {
        let from = Path::new("../../host/src").join(file);
        println!("cargo::rerun-if-changed={}", from.display());
        let text = fs::read_to_string(&from)?;
        let text = with_breaks(file, without_tests(&text).to_owned())?;
        // The copies lie in one folder.
        let text = text.replace("#[path = \"ticket/", "#[path = \"ticket_");
        let name = file.replace('/', "_");
        fs::write(Path::new(&out).join(name), on_the_shim(&text))?;
    }
    Ok(())
}

/// The file up to its unit tests.
fn without_tests(text: &str) -> &str {
    let end = text.find("\n#[cfg(test)]\nmod tests");
    end.map_or(text, |end| &text[..end])
}

fn with_breaks(file: &str, mut text: String) -> Result<String, String> {
    let mut replace = |from: &str, to: &str| match text.matches(from).count() {
        1 => {
            text = text.replace(from, to);
            Ok(())
        }
        count => Err(format!("{file}: stands {count} times, not once: {from}")),
    };
    for setting in breaks::SETTINGS.iter().filter(|it| it.file == file) {
        replace(setting.from, setting.to)?;
    }
    for broken in breaks::BREAKS.iter().filter(|it| it.file == file) {
        let (name, good, bad) = (broken.name, broken.good, broken.bad);
        // The broken code does something before the good code.
        if let Some(first) = bad.strip_suffix(good) {
            replace(
                good,
                &format!("if crate::is_broken({name:?}) {{ {first} }} {good}"),
            )?;
            continue;
        }
        let either = format!("if crate::is_broken({name:?}) {{ {bad} }} else {{ {good} }}");
        match good.ends_with(';') {
            true => replace(good, &either)?,
            false => replace(good, &format!("({either})"))?,
        }
    }
    Ok(text)
}

/// The first parts of paths, in the host and here.
const ROOTS: [(&str, &str); 4] = [
    ("std", "crate::shim::std"),
    ("tokio", "crate::shim::tokio"),
    ("rustix", "crate::shim::rustix"),
    ("crate", "crate::host"),
];

/// Changes the paths line by line, since no string in these files holds a path or spans
/// lines with one. `crate::is_broken` is ours.
fn on_the_shim(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // The documentation of a whole file cannot be included in another.
        if !line.trim_start().starts_with("//") {
            out.push_str(&paths(line));
        }
        out.push('\n');
    }
    out
}

fn paths(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("::") {
        let (before, after) = rest.split_at(at + 2);
        let head = &before[..at];
        let start = head
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        let (prefix, word) = head.split_at(start);
        let goes_on = prefix.is_empty() && out.ends_with("::");
        let is_first = !goes_on && !prefix.ends_with(':');
        let ours = after.starts_with("is_broken");
        let root = ROOTS
            .iter()
            .find(|(from, _)| is_first && !ours && *from == word)
            .map_or(word, |(_, to)| to);
        out.push_str(prefix);
        out.push_str(root);
        out.push_str("::");
        rest = after;
    }
    out + rest
}
