//! What `git push` and the like send, and where to.

use super::{
    publishing::{Kind, VALUE_OPTIONS, without_options},
    words::has_one_of,
};
use keyhole_outgoing::{Extra, Remote, Sent};

/// A command that has one of these words sends every branch and tag.
const BRANCHES_OPTIONS: [&str; 3] = ["--all", "--branches", "--mirror"];

/// A command that has one of these words sends tags.
const TAGS_OPTIONS: [&str; 2] = ["--follow-tags", "--tags"];

/// Verbs of git, besides [`COMMITTING`](super::publishing::COMMITTING), that may make or move HEAD,
/// a branch or a tag.
pub(super) const HEAD_MOVING: [&str; 9] = [
    "branch",
    "checkout",
    "rebase",
    "reset",
    "stash",
    "switch",
    "tag",
    "update-ref",
    "worktree",
];

/// Options of `git push`, `git subtree push` and `jj git push` that a value follows.
const PUSH_OPTIONS: [&str; 10] = [
    "-b",
    "-c",
    "-o",
    "-r",
    "--change",
    "--exec",
    "--prefix",
    "--push-option",
    "--receive-pack",
    "--repo",
];

/// Which commits a command of this kind sends with these arguments: of `git push origin v1`, those
/// of `v1` to `origin`. None if it sends none: a commit that stays here, or a text. Of `jj`, and of
/// a push with a pattern or a commit's digits, all branches and tags count as sent.
pub(super) fn sent_commits(kind: Kind, arguments: &[String]) -> Option<Sent> {
    if matches!(kind, Kind::Commits | Kind::BringsIn | Kind::SendsFiles) {
        return None;
    }
    if kind == Kind::TakesChanges && !has_one_of(arguments, &["push", "submit", "send-email"]) {
        return None;
    }
    let mut parts = arguments.splitn(2, |word| word == "push");
    let before_push = parts.next().unwrap_or_default();
    let behind_push = parts.next().unwrap_or_default();
    let words = without_options(behind_push, &PUSH_OPTIONS);
    // `gh repo create` makes a repository that has nothing.
    let makes_repository = arguments.first().is_some_and(|noun| noun == "repo");
    let remote = match words.first() {
        Some(name) => Remote::Named((*name).to_owned()),
        // `--repo=x` may be an address.
        None if makes_repository || arguments.iter().any(|word| word.starts_with("--repo")) => {
            Remote::Unknown
        }
        None => Remote::Default,
    };
    let refspecs = words.get(1..).unwrap_or_default();
    let names_refs = refspecs.iter().all(|word| names_branch_or_tag(word));
    let extra =
        if kind == Kind::TakesChanges || has_one_of(arguments, &BRANCHES_OPTIONS) || !names_refs {
            Extra::Branches
        } else if has_one_of(arguments, &TAGS_OPTIONS) {
            Extra::Tags
        } else {
            Extra::Nothing
        };
    let mut only = Vec::new();
    // `git subtree push` sends what HEAD has, whatever it names.
    if names_refs && without_options(before_push, &VALUE_OPTIONS).is_empty() {
        for refspec in refspecs {
            let name = source_of(refspec);
            // `:gone` sends nothing.
            if !name.is_empty() {
                only.push(name.to_owned());
            }
        }
    }
    Some(Sent {
        remote,
        extra,
        only,
    })
}

/// The name of what a refspec pushes, without a `+` before it: `main` of `main~1:x` and `+main`.
/// Empty for `:gone`.
fn source_of(refspec: &str) -> &str {
    let source = refspec.trim_start_matches('+');
    source.split([':', '~', '^']).next().unwrap_or_default()
}

/// Whether a push with these refspecs only deletes branches at the remote: `:gone`. False without a
/// refspec, and if the `arguments` have an option that sends more, such as `--tags`.
pub(super) fn are_deletions(refspecs: &[&str], arguments: &[String]) -> bool {
    let sends_more =
        has_one_of(arguments, &BRANCHES_OPTIONS) || has_one_of(arguments, &TAGS_OPTIONS);
    !refspecs.is_empty() && !sends_more && refspecs.iter().all(|word| deletes(word))
}

/// Whether a refspec deletes a branch at the remote: `:gone`. A lone `:` pushes all branches that
/// are there, too.
fn deletes(refspec: &str) -> bool {
    refspec.len() > 1 && refspec.starts_with(':')
}

/// Whether a refspec names a branch or tag to push (`main`, `+v1:x`, `HEAD~1:x`), or one to delete
/// there (`:gone`). A pattern, an object's name, `heads/main` and a lone `:` do not.
fn names_branch_or_tag(refspec: &str) -> bool {
    if deletes(refspec) {
        return true;
    }
    let name = source_of(refspec);
    let is_folder = ["heads/", "tags/", "remotes/"]
        .iter()
        .any(|start| name.starts_with(start));
    !name.is_empty() && !name.contains(['*', '@', '{', '$']) && !may_name_commit(name) && !is_folder
}

/// Whether this may be the name of a commit: `3f2a91c`.
pub(super) fn may_name_commit(name: &str) -> bool {
    name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The names of git's remotes to which these words give another name or address, among other words:
/// `pub` and `https://x` of `git remote add pub https://x`, and `origin` of
/// `git config remote.origin.url x`. Any word at all means that a push without a remote may go
/// elsewhere: `main` of `git -c branch.main.remote=x`. Empty for `git remote -v`.
pub(super) fn changed_remotes(words: &[String]) -> Vec<String> {
    let verbs = ["add", "remove", "rename", "rm", "set-url"];
    let noun = words.iter().position(|word| word == "remote");
    let from_noun = noun.and_then(|at| words.get(at..)).unwrap_or_default();
    let verb = from_noun
        .iter()
        .position(|word| verbs.contains(&word.as_str()));
    let behind_verb = verb.and_then(|at| from_noun.get(at + 1..));
    let mut changed = behind_verb.unwrap_or_default().to_vec();
    if has_one_of(words, &["config", "-c"]) {
        for word in words {
            let mut parts = word.split('.');
            if let (Some("branch" | "remote"), Some(name)) = (parts.next(), parts.next()) {
                changed.push(name.to_owned());
            }
        }
    }
    if has_one_of(words, &["branch"]) && has_one_of(words, &["-u"]) {
        changed.push("-u".to_owned());
    }
    changed
}

/// Whether git, with these arguments, only deletes the branches that they name, here or at a remote,
/// or sends nothing of them: `branch -D x`, `push --dry-run`.
pub(super) fn sends_no_branch(arguments: &[String]) -> bool {
    let is_deletion = has_one_of(arguments, &["-D", "-d", "--delete"]);
    (has_one_of(arguments, &["branch"]) && is_deletion)
        || (has_one_of(arguments, &["push"]) && sends_nothing(arguments))
}

/// Whether `git push` sends nothing with these arguments: a dry run, or a branch is deleted there.
/// Behind another option, such a word may be that option's value, and does not count.
/// `--no-dry-run` may take it back.
pub(super) fn sends_nothing(arguments: &[String]) -> bool {
    if arguments.iter().any(|word| word.starts_with("--no-d")) {
        return false;
    }
    arguments.array_windows().any(|[before, word]| {
        !before.starts_with('-') && matches!(word.as_str(), "--dry-run" | "-n" | "--delete" | "-d")
    })
}
