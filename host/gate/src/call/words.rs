//! What the words of a command name: files, variables, and all that is changed.

use keyhole_outgoing::Takes;
use std::path::{Path, PathBuf};

/// Options that a file's name follows. The text of this file leaves. With the last two, git adds an
/// ignored file.
const FILE_OPTIONS: [&str; 6] = [
    "-F",
    "--file",
    "--body-file",
    "--notes-file",
    "-f",
    "--force",
];

/// Whether one of these words is `wanted`.
pub(super) fn has_one_of(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// Which files a command may take that its words do not name:
/// - all, with new ones: `git add -A`, `git add $FILES`, `xargs git add`, and each command of `jj`;
/// - those that are changed: `git commit -am x`, `git add -u`;
/// - none ([`Takes::Named`]): `git add src`, `git add .`, which names a folder, and any command
///   without `add`, `commit` or `stage`.
pub(super) fn takes(words: &[String]) -> Takes {
    if has_one_of(words, &["jj"]) {
        return Takes::All;
    }
    let adding_verbs = ["add", "commit", "stage"];
    let mut from_verb = words
        .iter()
        .skip_while(|word| !adding_verbs.contains(&&***word));
    let Some(verb) = from_verb.next() else {
        return Takes::Named;
    };
    // Without a word, as in `xargs git add`, something else says what is added.
    let mut names = from_verb.clone().filter(|word| !word.starts_with('-'));
    let has_no_name = verb != "commit" && names.next().is_none();
    let is_update = has_one_of(words, &["-u", "--update"]);
    if (has_no_name && !is_update) || has_one_of(words, &["xargs"]) {
        return Takes::All;
    }
    // Whether the word before is an option such as `-m`. A `$` in a message names no file.
    let mut is_message = false;
    for word in from_verb {
        if may_add_all(word) && !(is_message && word.contains('$')) {
            // These two take no new files.
            return if verb == "commit" || is_update {
                Takes::Changed
            } else {
                Takes::All
            };
        }
        is_message = word.starts_with('-') && word.ends_with(['m', 'F', 'e']);
    }
    Takes::Named
}

/// Whether these words add ignored files, too: `git add -f conf`, `git add -fA`.
pub(super) fn forces(words: &[String]) -> bool {
    let mut from_verb = words
        .iter()
        .skip_while(|word| !matches!(&***word, "add" | "stage"));
    from_verb.any(|word| {
        let is_short = !word.starts_with("--") && word.starts_with('-') && word.contains('f');
        is_short || (word.len() > 2 && "--force".starts_with(word.as_str()))
    })
}

/// Whether git adds all changed files by this word, or nobody knows which: `-A`, `-am`, `--all`,
/// `:/docs`, `{a,b}.txt`, `~/a`, `--pathspec-from-file=x` or `$FILES`. False for `-m` and `src`.
fn may_add_all(word: &str) -> bool {
    if matches!(word, "--all" | "--update") || word.starts_with("--pathspec-from") {
        return true;
    }
    if let Some(letters) = word.strip_prefix('-') {
        // Behind these letters, a value begins: of `-ma`, `a` is the message.
        let mut flags = letters.chars().take_while(|c| !"mFCct-".contains(*c));
        return flags.any(|c| matches!(c, 'a' | 'A' | 'u'));
    }
    let is_expanded = word.starts_with([':', '~']) || word.contains(['$', '{']);
    // A text with blanks is a message.
    is_expanded && !word.contains(char::is_whitespace)
}

/// Whether this may name a variable.
pub(super) fn is_variable(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What stands before the first `$` of a word, the name of the variable there, and what stands
/// behind it. None if there is no `$`, or no name behind it.
pub(super) fn split_at_variable(word: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = word.split_once('$')?;
    if let Some((name, behind)) = rest.strip_prefix('{').and_then(|it| it.split_once('}')) {
        return Some((before, name, behind)).filter(|_| is_variable(name));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
    Some((before, name, behind)).filter(|_| is_variable(name))
}

/// What a word may name, such as a file or a branch: the word, `msg` of `-Fmsg`, what stands behind
/// its first `=`, `@` and `<`, and each piece between `=`, `@`, `<`, `:`, `;`, `+` and `#`. Of `f=@a.txt;type=b`,
/// these are `f=@a.txt;type=b`, `@a.txt;type=b`, `a.txt;type=b`, `f`, `a.txt`, `type` and `b`. A
/// word with a blank is a message, and has no pieces: `docs: more` names nothing but itself. A name
/// that begins with `-` is an option, and is left out.
pub(super) fn names_in(word: &str) -> Vec<&str> {
    let mut names = vec![word];
    names.extend(joined_value(word));
    for mark in ['=', '@', '<'] {
        names.extend(word.split_once(mark).map(|(_, rest)| rest));
    }
    if !word.contains(char::is_whitespace) {
        names.extend(word.split(['=', '@', '<', ':', ';', '+', '#']));
    }
    names.retain(|name| !name.is_empty() && !name.starts_with('-'));
    names
}

/// The value of a short option that is joined to it: `msg` of `-Fmsg`.
fn joined_value(word: &str) -> Option<&str> {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    word.get(2..).filter(|value| is_short && !value.is_empty())
}

/// The files whose whole text leaves by an option (one of [`FILE_OPTIONS`]): `msg` of `-F msg`,
/// `-Fmsg`, `-aF msg` and `--file=msg`, and `conf` of `git add -f conf`, which git may ignore.
/// Empty without such an option.
pub(super) fn files_of_options(words: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    // Whether the word before is an option that a file's name follows.
    let mut is_file = false;
    for word in words {
        if is_file {
            files.push(word.clone());
        }
        // `-aF msg` is `-a -F msg`.
        let is_cluster = joined_value(word).is_some_and(|letters| letters.ends_with('F'));
        is_file = FILE_OPTIONS.contains(&&**word) || is_cluster;
        if let Some((option, file)) = word.split_once('=')
            && FILE_OPTIONS.contains(&option)
        {
            files.push(file.to_owned());
        }
        if let Some(file) = joined_value(word)
            && word.starts_with("-F")
        {
            files.push(file.to_owned());
        }
    }
    files
}

/// The path that a shell makes of a word: with the home `/home/u`, `~` is `/home/u` and `~/a` is
/// `/home/u/a`. Without a home, and for any other word, such as `a` and `~u/a`, the path is the
/// word.
pub(crate) fn expand(word: &str, home: Option<&Path>) -> PathBuf {
    match (word.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(word),
    }
}
