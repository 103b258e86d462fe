//! Which commands publish, by the names of programs and their first words.

use super::{reader::MAX_STEPS, words::has_one_of};
use keyhole_outgoing::Sent;

/// How a command publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It makes a commit: `git commit`.
    Commits,
    /// It sends commits: `git push`.
    Pushes,
    /// It makes a commit of all that is changed, or sends it: `jj`.
    Changes,
    /// It sends what a branch has, and files that it names: `gh pr create`.
    Sends,
    /// The same, and files that git may not have: `npm publish`.
    Packs,
    /// It publishes nothing, but brings in what commits or a stash have, so that another command
    /// may publish that: `git stash pop`, `git merge f`, `git checkout f -- x`.
    Brings,
    /// It sends its text, and files that it names: `curl`, `scp`, `rsync`, `docker push`.
    Files,
}

/// Options before a verb that a value follows.
const VALUE_OPTIONS: [&str; 13] = [
    "-C",
    "-F",
    "-R",
    "-c",
    "-w",
    "--filter",
    "--git-dir",
    "--manifest-path",
    "--prefix",
    "--registry",
    "--repo",
    "--work-tree",
    "--workspace",
];

/// Verbs of git that may make a commit of what is staged.
pub(super) const COMMITTING: [&str; 7] = [
    "--continue",
    "am",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "revert",
];

/// How these words publish, and the words behind the program's name: of `sudo git push origin`,
/// they are `push` and `origin`. None if they do not publish: `git log`.
pub(super) fn publishing(words: &[String]) -> Option<(Kind, &[String])> {
    for (index, word) in words.iter().enumerate().take(MAX_STEPS) {
        let rest = words.get(index + 1..).unwrap_or_default();
        if let Some(kind) = kind(program(word), rest) {
            return Some((kind, rest));
        }
    }
    None
}

/// A program's own name: `git` of `/usr/bin/git`.
pub(super) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// How this program publishes with these arguments. None if it does not.
fn kind(program: &str, arguments: &[String]) -> Option<Kind> {
    if sends_files(program, arguments) {
        return Some(Kind::Files);
    }
    if has_one_of(arguments, &["--help"]) {
        return None;
    }
    let plain = plain(arguments);
    match (program, &*plain) {
        ("git", _) => of_git(&plain, arguments),
        ("jj", ["commit" | "submit", ..] | [_, "push", ..]) => Some(Kind::Changes),
        ("gh" | "glab", [noun, verbs @ ..]) => of_hub(noun, verbs, arguments),
        ("docker" | "podman", _)
            if plain.contains(&"push") || has_one_of(arguments, &["--push"]) =>
        {
            Some(Kind::Files)
        }
        (_, [verb, ..]) if PACKING.contains(&program) && is_packing(verb) => Some(Kind::Packs),
        _ if RUNNING.contains(&program) && plain.iter().any(|word| is_packing(word)) => {
            Some(Kind::Packs)
        }
        _ => None,
    }
}

/// Programs that publish a package if their first word says so.
const PACKING: [&str; 18] = [
    "bun", "cabal", "cargo", "deno", "flit", "gem", "hatch", "helm", "lerna", "maturin", "npm",
    "nuget", "ovsx", "pdm", "poetry", "twine", "uv", "vsce",
];

/// The same, of programs with which that word may stand behind others.
const RUNNING: [&str; 11] = [
    "bunx", "dart", "dotnet", "flutter", "gradle", "gradlew", "mvn", "npx", "pnpm", "sbt", "yarn",
];

/// Whether a program that makes packages publishes one with this verb.
fn is_packing(verb: &str) -> bool {
    matches!(verb, "publish" | "upload" | "push" | "deploy")
}

/// The words of these that are no options, their values or toolchains.
fn plain(arguments: &[String]) -> Vec<&str> {
    let mut plain = Vec::new();
    let mut is_value = false;
    for word in arguments {
        if !is_value && !word.starts_with(['-', '+']) {
            plain.push(word.as_str());
        }
        is_value = VALUE_OPTIONS.contains(&word.as_str());
    }
    plain
}

/// How git publishes with these words.
fn of_git(plain: &[&str], arguments: &[String]) -> Option<Kind> {
    match plain {
        ["commit", ..] => Some(Kind::Commits),
        ["push", ..] if has_one_of(arguments, &["--dry-run", "-n", "--delete", "-d"]) => None,
        ["push" | "submit" | "send-email", ..]
        | ["lfs" | "p4" | "subtree", "push" | "submit", ..] => Some(Kind::Pushes),
        ["stash", "apply" | "pop", ..] | ["cherry-pick" | "merge", ..] => Some(Kind::Brings),
        ["restore", ..] if has_option(arguments, &["--source"]) => Some(Kind::Brings),
        ["checkout" | "restore", _, _, ..] if !has_one_of(arguments, &["-b", "-B"]) => {
            Some(Kind::Brings)
        }
        _ => None,
    }
}

/// How `gh` or `glab` publishes with these words.
fn of_hub(noun: &str, verbs: &[&str], arguments: &[String]) -> Option<Kind> {
    let verb = verbs.first().copied().unwrap_or_default();
    let is_making = matches!(verb, "create" | "new");
    match noun {
        "api" if arguments.iter().any(|word| is_field(word)) => Some(Kind::Files),
        "pr" | "mr" | "release" if is_making => Some(Kind::Sends),
        "repo" if has_option(arguments, &["--push", "--source"]) => Some(Kind::Sends),
        "pr" | "mr" | "issue" | "release" | "gist" | "snippet" | "repo"
            if is_making || HUB_VERBS.contains(&verb) || has_option(arguments, &HUB_OPTIONS) =>
        {
            Some(Kind::Files)
        }
        _ => None,
    }
}

/// Verbs with which `gh pr` and the like send a text or files.
const HUB_VERBS: [&str; 6] = ["comment", "edit", "merge", "note", "update", "upload"];

/// The same, options.
const HUB_OPTIONS: [&str; 5] = ["-b", "-c", "--body", "--body-file", "--comment"];

/// Whether `gh api` sends something with this argument: `-f`, `-F`, `--input`, `-XPOST`.
fn is_field(word: &str) -> bool {
    let mut starts = ["-f", "-F", "--field", "--raw-field", "--input"].iter();
    starts.any(|start| word.starts_with(start)) || is_method(word.trim_start_matches("-X"))
}

/// Whether one of these words is one of these options, also with its value.
fn has_option(words: &[String], options: &[&str]) -> bool {
    let mut names = words
        .iter()
        .map(|word| word.split('=').next().unwrap_or_default());
    names.any(|name| options.contains(&name))
}

/// Whether this program sends files or a text with these arguments: `curl -d x`, `scp a host:`.
fn sends_files(program: &str, arguments: &[String]) -> bool {
    match program {
        "curl" => arguments.iter().any(|word| is_upload(word)),
        "scp" | "rsync" => {
            let mut places = arguments.iter().filter(|word| !word.starts_with('-'));
            places.next_back().is_some_and(|word| is_remote(word))
        }
        _ => false,
    }
}

/// Whether curl sends something with this argument: `-d`, `-sF`, `--data-raw`, `POST`, `-XPUT`.
/// With `-o` and `-XGET`, it does not.
fn is_upload(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let method = long.strip_prefix("request=").unwrap_or_default();
        let mut starts = ["data", "form", "json", "upload-file"].iter();
        return is_method(method) || starts.any(|start| long.starts_with(start));
    }
    let Some(letters) = word.strip_prefix('-') else {
        return is_method(word);
    };
    // Behind one of these letters, a value begins.
    let (flags, value) = letters.split_once('X').unwrap_or((letters, ""));
    let mut known = flags.chars().take_while(|c| !"AHKbcemouwxy".contains(*c));
    is_method(value) || known.any(|c| "dFT".contains(c))
}

/// Whether this is a method of HTTP that sends something.
fn is_method(word: &str) -> bool {
    matches!(word, "POST" | "PUT" | "PATCH")
}

/// Whether this is a place on another machine: `host:dir`, `rsync://host`. `./a:b` is none.
fn is_remote(word: &str) -> bool {
    word.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

/// A command that has one of these words sends every branch or tag.
const EVERYTHING: [&str; 5] = ["--all", "--branches", "--follow-tags", "--mirror", "--tags"];

/// Options of `git push` that a value follows, and no remote.
const PUSH_OPTIONS: [&str; 5] = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// Which commits a command with these arguments sends, if it sends any. `jj` sends what it likes.
pub(super) fn sent(kind: Kind, arguments: &[String]) -> Option<Sent> {
    if matches!(kind, Kind::Commits | Kind::Brings | Kind::Files) {
        return None;
    }
    if kind == Kind::Changes && !has_one_of(arguments, &["push", "submit", "send-email"]) {
        return None;
    }
    Some(Sent {
        remote: remote(arguments),
        all: kind == Kind::Changes
            || has_one_of(arguments, &EVERYTHING)
            || pushed(arguments).iter().skip(1).any(|word| !is_name(word)),
    })
}

/// The remote that stands behind `push`. An address names none.
fn remote(arguments: &[String]) -> Option<String> {
    let first = pushed(arguments).first().copied()?;
    Some(first.to_owned()).filter(|name| !name.contains([':', '/', '$', '.']))
}

/// The remote behind `push`, and what is sent there.
fn pushed(arguments: &[String]) -> Vec<&str> {
    let mut words = Vec::new();
    // Whether the word before is an option that a value follows.
    let mut is_value = false;
    for word in arguments.iter().skip_while(|word| *word != "push").skip(1) {
        if !is_value && !word.starts_with('-') {
            words.push(word.as_str());
        }
        is_value = PUSH_OPTIONS.contains(&word.as_str());
    }
    words
}

/// Whether this tells by the name of a branch or tag what is pushed: `main`, `+v1:x`, `HEAD~1:x`;
/// or that something is deleted there, as `:gone`. A pattern, an object's name and `heads/main` do
/// not.
fn is_name(refspec: &str) -> bool {
    let source = refspec.trim_start_matches('+');
    if source.starts_with(':') {
        return source.len() > 1;
    }
    let mut parts = source.split([':', '~', '^']);
    let name = parts.next().unwrap_or_default();
    let is_folder = ["heads/", "tags/", "remotes/"]
        .iter()
        .any(|start| name.starts_with(start));
    !name.is_empty() && !name.contains(['*', '@', '{', '$']) && !is_object(name) && !is_folder
}

/// Whether this may be the name of a commit: `3f2a91c`.
pub(super) fn is_object(name: &str) -> bool {
    name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
