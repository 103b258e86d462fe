//! Which commands publish, by the names of programs and their first words.

use super::{
    pushes::{are_deletions, may_name_commit, sends_nothing},
    reader::MAX_STEPS,
    words::has_one_of,
};

/// How a command publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It makes a commit: `git commit`.
    Commits,
    /// It sends commits: `git push`.
    Pushes,
    /// It makes a commit of all that is changed, or sends it: `jj`.
    TakesChanges,
    /// It sends what a branch has, and files that it names: `gh pr create`.
    SendsBranch,
    /// It sends what a branch has, and all files of its folder, also those that git does not have:
    /// `npm publish`.
    Packs,
    /// It publishes nothing, but brings in what commits or a stash have, so that another command
    /// may publish that: `git stash pop`, `git merge f`, `git checkout f -- x`.
    BringsIn,
    /// It sends its text, and files that it names: `curl`, `scp`, `rsync`, `docker push`.
    SendsFiles,
}

impl Kind {
    /// Whether git or jj does it, which sends a file as it is only by an option. The other programs
    /// may send each file that a word names.
    pub(super) const fn is_gits(self) -> bool {
        !matches!(self, Self::SendsBranch | Self::Packs | Self::SendsFiles)
    }
}

/// Options before a verb that a value follows.
pub(super) const VALUE_OPTIONS: [&str; 13] = [
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

/// How a command publishes, and the words behind its program's name: of `sudo git push origin`,
/// [`Kind::Pushes`], and `push` and `origin`. The program may be any of the first 64 words. None if
/// no word and those behind it publish: `git log`.
pub(super) fn publishing(words: &[String]) -> Option<(Kind, &[String])> {
    for (index, word) in words.iter().enumerate().take(MAX_STEPS) {
        let rest = words.get(index + 1..).unwrap_or_default();
        if let Some(kind) = kind(program(word), rest) {
            return Some((kind, rest));
        }
    }
    None
}

/// Programs that run another one.
const WRAPPERS: [&str; 12] = [
    "command", "doas", "env", "exec", "flock", "ionice", "nice", "nohup", "stdbuf", "sudo",
    "timeout", "xargs",
];

/// The arguments of git, or of `jj` if that publishes: `add` and `a` of `sudo -n git add a`. None if
/// the words are another program's: `rg git a`, `curl -d @a https://x/git`.
pub(super) fn gits_arguments(words: &[String]) -> Option<&[String]> {
    if let Some((kind, arguments)) = publishing(words) {
        return Some(arguments).filter(|_| kind.is_gits());
    }
    let first = words.first()?;
    let git = if WRAPPERS.contains(&program(first)) {
        words.iter().position(|word| program(word) == "git")?
    } else {
        0
    };
    let (name, arguments) = words.get(git..)?.split_first()?;
    Some(arguments).filter(|_| program(name) == "git")
}

/// A program's own name: `git` of `/usr/bin/git`.
pub(super) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// How this program publishes with these arguments: `git` with `push` sends commits, `npm` with
/// `publish` sends all of its folder. None if it does not publish: `git log`, `npm test`. `--help`
/// is an argument as any other: `git commit -m --help` makes a commit.
fn kind(program: &str, arguments: &[String]) -> Option<Kind> {
    if sends_files(program, arguments) {
        return Some(Kind::SendsFiles);
    }
    let mut words = without_options(arguments, &VALUE_OPTIONS);
    // A toolchain, such as `+nightly`.
    words.retain(|word| !word.starts_with('+'));
    match (program, &*words) {
        ("git", _) => kind_of_git(&words, arguments),
        ("jj", ["commit" | "submit", ..] | [_, "push", ..]) => Some(Kind::TakesChanges),
        ("gh" | "glab", [noun, verbs @ ..]) => {
            let verb = verbs.first().copied().unwrap_or_default();
            kind_of_hub(noun, verb, arguments)
        }
        ("docker" | "podman", _)
            if words.contains(&"push") || has_one_of(arguments, &["--push"]) =>
        {
            Some(Kind::SendsFiles)
        }
        (_, [verb, ..]) if PACKAGERS.contains(&program) && publishes(verb) => Some(Kind::Packs),
        _ if !RUNNERS.contains(&program) || is_local(&words) => None,
        _ if words.iter().any(|word| publishes(word)) => Some(Kind::Packs),
        _ => None,
    }
}

/// Programs that publish a package if their first word is `publish` or the like.
const PACKAGERS: [&str; 18] = [
    "bun", "cabal", "cargo", "deno", "flit", "gem", "hatch", "helm", "lerna", "maturin", "npm",
    "nuget", "ovsx", "pdm", "poetry", "twine", "uv", "vsce",
];

/// Programs that publish a package if any of their words is `publish` or the like.
const RUNNERS: [&str; 13] = [
    "bunx", "dart", "firebase", "flutter", "gradle", "gradlew", "mvn", "netlify", "npx", "pnpm",
    "sbt", "wrangler", "yarn",
];

/// Whether a program that makes packages publishes one with this verb. `publishToMavenLocal` does
/// not.
fn publishes(verb: &str) -> bool {
    // In Gradle, `:lib:publish` is the task `publish` of `lib`.
    let task = verb.rsplit(':').next().unwrap_or_default();
    let is_publish = task.starts_with("publish") && !task.ends_with("Local");
    is_publish || matches!(task, "upload" | "push" | "deploy")
}

/// Whether these words run a program that changes only a database, whatever verb follows: `prisma
/// migrate deploy`, `exec drizzle-kit push`, `prisma@6 db push`.
fn is_local(words: &[&str]) -> bool {
    let mut programs = words
        .iter()
        .skip_while(|word| matches!(**word, "dlx" | "exec"));
    let name = programs.next().and_then(|word| word.split('@').next());
    matches!(name, Some("prisma" | "drizzle-kit"))
}

/// The arguments that are no options and no values of the `value_options`: `push` and `a` of
/// `-C x push -q a`, if `-C` is one of these.
pub(super) fn without_options<'w>(arguments: &'w [String], value_options: &[&str]) -> Vec<&'w str> {
    let mut words = Vec::new();
    // Whether the word before is an option that a value follows.
    let mut is_value = false;
    for word in arguments {
        if !is_value && !word.starts_with('-') {
            words.push(word.as_str());
        }
        is_value = value_options.contains(&word.as_str());
    }
    words
}

/// How git publishes with these arguments: `commit -m x`, `push`, `stash pop` (which only brings in
/// what a later command may publish). `words` are the arguments without options and their values.
/// None if git publishes nothing and brings in nothing: `log`, `push --dry-run`, `push origin
/// :gone`, `checkout -b x y`, `checkout -- a b`, `restore a b`.
fn kind_of_git(words: &[&str], arguments: &[String]) -> Option<Kind> {
    match words {
        ["commit", ..] => Some(Kind::Commits),
        ["push", ..] if sends_nothing(arguments) => None,
        ["push", _remote, refspecs @ ..] if are_deletions(refspecs, arguments) => None,
        ["push" | "submit" | "send-email", ..]
        | ["lfs" | "p4" | "subtree", "push" | "submit", ..] => Some(Kind::Pushes),
        ["stash", "apply" | "branch" | "pop", ..] | ["cherry-pick" | "merge", ..] => {
            Some(Kind::BringsIn)
        }
        [
            "branch" | "read-tree" | "reset" | "switch" | "update-ref",
            ..,
        ] if words.iter().any(|word| may_name_commit(word)) => Some(Kind::BringsIn),
        ["restore", ..] if arguments.iter().any(|word| is_source_option(word)) => {
            Some(Kind::BringsIn)
        }
        ["checkout", _, _, ..]
            if !has_one_of(arguments, &["-b", "-B"]) && !names_only_files(arguments) =>
        {
            Some(Kind::BringsIn)
        }
        _ => None,
    }
}

/// Whether this option of `git restore` names a commit: `--source=x`, `-s`, `-Ws`. False for
/// `--staged`: what is staged is compared anyway.
fn is_source_option(word: &str) -> bool {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    word.starts_with("--so") || (is_short && word.contains('s'))
}

/// Whether `git checkout` names only files with these arguments, and no commit:
/// `checkout -- a b`.
fn names_only_files(arguments: &[String]) -> bool {
    let mut parts = arguments.splitn(2, |word| word == "--");
    let before_files = parts.next().unwrap_or_default();
    parts.next().is_some() && without_options(before_files, &VALUE_OPTIONS).len() == 1
}

/// How `gh NOUN VERB` or `glab NOUN VERB` publishes with these arguments: `pr create` sends a
/// branch, and a verb that nobody knows sends a text and files. None if it publishes nothing: `pr
/// list`, `api user`.
fn kind_of_hub(noun: &str, verb: &str, arguments: &[String]) -> Option<Kind> {
    match (noun, verb) {
        ("api", _) if arguments.iter().any(|word| makes_api_send(word)) => Some(Kind::SendsFiles),
        ("api", _) => None,
        _ if HUB_READING_WORDS.contains(&noun) || HUB_READING_WORDS.contains(&verb) => None,
        ("pr" | "mr" | "release", "create" | "new") => Some(Kind::SendsBranch),
        ("repo", _) if has_option(arguments, &["--push", "--source"]) => Some(Kind::SendsBranch),
        _ => Some(Kind::SendsFiles),
    }
}

/// Nouns and verbs with which `gh` and `glab` send nothing of the user's.
const HUB_READING_WORDS: [&str; 15] = [
    "auth", "browse", "checkout", "checks", "clone", "config", "diff", "download", "help", "list",
    "ls", "search", "status", "view", "watch",
];

/// Whether `gh api` sends something with this argument: `-f`, `-F`, `--input`, `-XPOST`.
fn makes_api_send(word: &str) -> bool {
    let mut starts = ["-f", "-F", "--field", "--raw-field", "--input"].iter();
    starts.any(|start| word.starts_with(start)) || is_sending_method(word.trim_start_matches("-X"))
}

/// Whether one of these words is one of these options, also with its value: `--body=x`.
fn has_option(words: &[String], options: &[&str]) -> bool {
    let mut names = words
        .iter()
        .map(|word| word.split('=').next().unwrap_or_default());
    names.any(|name| options.contains(&name))
}

/// Whether this is curl, wget, scp or rsync, and sends files or a text with these arguments: `curl
/// -d x`, `scp a host:`. Of `scp host:a .`, the remote place is the first: it sends nothing.
fn sends_files(program: &str, arguments: &[String]) -> bool {
    match program {
        "curl" => arguments.iter().any(|word| is_upload(word)),
        "wget" => arguments
            .iter()
            .any(|word| word.starts_with("--post-") || word.starts_with("--body-")),
        "scp" | "rsync" => {
            let places = arguments.iter().filter(|word| !word.starts_with('-'));
            places.skip(1).any(|word| is_remote(word))
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
        return is_sending_method(method) || starts.any(|start| long.starts_with(start));
    }
    let Some(letters) = word.strip_prefix('-') else {
        return is_sending_method(word);
    };
    let (before_x, method) = letters.split_once('X').unwrap_or((letters, ""));
    // Behind one of these letters, a value begins.
    let mut flags = before_x
        .chars()
        .take_while(|c| !"AHKbcemouwxy".contains(*c));
    is_sending_method(method) || flags.any(|c| "dFT".contains(c))
}

/// Whether this is a method of HTTP that sends something.
fn is_sending_method(word: &str) -> bool {
    matches!(word, "POST" | "PUT" | "PATCH")
}

/// Whether this is a place on another machine: `host:dir`, `rsync://host`. `./a:b` is none.
fn is_remote(word: &str) -> bool {
    word.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}
