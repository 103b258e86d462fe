//! What a call would publish, by its words alone: nothing is looked up here.
//!
//! The words are a help, and no proof: what a script does, nobody sees in its name.

use crate::shell::{CLOSING, Script};
use keyhole_claude::paths::normal;
use keyhole_outgoing::{Sent, Wanted};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What one call may publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What leaves with the call itself: a message, a title, the arguments of a tool.
    pub text: String,
    /// What leaves of each folder, one or more.
    pub parts: Vec<Part>,
}

/// What a call may publish of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The folder in which the words mean something.
    pub folder: PathBuf,
    /// What leaves of its repository. None if the call sends only its text and its files.
    pub wanted: Option<Wanted>,
    /// Words that may name files which leave as they are, also if the repository has them.
    pub files: Vec<String>,
}

/// Where a call is made.
#[derive(Clone, Copy, Debug)]
pub struct At<'p> {
    /// The session's folder.
    pub folder: &'p Path,
    /// The user's home, which `~` means.
    pub home: Option<&'p Path>,
}

/// The tools that run a shell's command.
const SHELLS: [&str; 2] = ["Bash", "Monitor"];

/// The tool of a server sends something away if its name has one of these.
const SENDING_TOOLS: [&str; 9] = [
    "comment", "create", "merge", "post", "publish", "push", "send", "update", "upload",
];

/// What a call of this tool may publish: of Bash and Monitor, by their command; of a server's
/// `create_issue`, its input. None if it publishes nothing that we know: `git status`, `Read`,
/// `list_issues`.
pub fn call(tool: &str, input: &Value, at: At<'_>) -> Option<Call> {
    if SHELLS.contains(&tool) {
        return of_command(input["command"].as_str()?, at);
    }
    let (_, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    let small = name.to_ascii_lowercase();
    if !SENDING_TOOLS.iter().any(|word| small.contains(word)) {
        return None;
    }
    let mut text = String::new();
    add_texts(&mut text, input);
    Some(Call {
        text,
        parts: vec![Part {
            folder: at.folder.to_owned(),
            ..Part::default()
        }],
    })
}

/// Adds all strings and numbers of a value, a line each. Names of fields are the tool's own.
fn add_texts(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => {
            *text += string;
            text.push('\n');
        }
        Value::Number(number) => *text += &format!("{number}\n"),
        Value::Array(values) => values.iter().for_each(|value| add_texts(text, value)),
        Value::Object(fields) => fields.values().for_each(|value| add_texts(text, value)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// What a shell's command may publish. If none of its own words publishes, it may hand a text to
/// another shell, as `bash -c 'git push'` does.
fn of_command(command: &str, at: At<'_>) -> Option<Call> {
    let script = Script::of(command);
    let mut reader = Reader::new(at);
    reader.read(&script);
    let text = reader.published(&script.heredocs);
    if reader.parts.is_empty() && reader.words.iter().any(|word| is_shell(word)) {
        for text in script.nested() {
            reader.read(&Script::of(text));
        }
    }
    if reader.parts.is_empty() {
        return None;
    }
    let all = reader.parts.clone();
    let mut parts = reader.parts;
    parts.retain(|part| !all.iter().any(|other| other.covers(part)));
    Some(Call { text, parts })
}

/// Whether this program runs a text that it is given.
fn is_shell(word: &str) -> bool {
    matches!(
        program(word),
        "bash" | "dash" | "eval" | "ksh" | "sh" | "ssh" | "zsh"
    )
}

/// How a command publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It makes a commit, or sends some: `git`.
    Commits,
    /// The same, of all that is changed: `jj`.
    Changes,
    /// It sends what a branch has, and files that it names: `gh`, or `npm publish`.
    Sends,
    /// It sends its text, and files that it names: `curl`, `scp`, `rsync`, `docker push`.
    Files,
}

/// Programs, and the words with which they publish. `*` is any program.
const PUBLISHING: [(&str, Kind, &[&str]); 7] = [
    (
        "git",
        Kind::Commits,
        &["commit", "push", "submit", "send-email"],
    ),
    (
        "jj",
        Kind::Changes,
        &["commit", "push", "submit", "send-email"],
    ),
    (
        "gh",
        Kind::Sends,
        &["pr", "issue", "release", "gist", "api"],
    ),
    (
        "glab",
        Kind::Sends,
        &["mr", "issue", "release", "snippet", "api"],
    ),
    ("docker", Kind::Files, &["push"]),
    ("podman", Kind::Files, &["push"]),
    ("*", Kind::Sends, &["publish", "upload"]),
];

/// What only reads or shows, whatever words follow.
const READING: [&str; 13] = [
    "cat", "echo", "grep", "head", "less", "ls", "man", "printf", "rg", "sed", "tail", "wc",
    "which",
];

/// A word that stands behind `gh pr` and the like, and with which it publishes nothing.
const LOOKING: [&str; 8] = [
    "checkout", "checks", "diff", "download", "list", "ls", "status", "view",
];

/// A command that has one of these words sends commits, and not only a text.
const SENDING: [&str; 7] = [
    "mr",
    "pr",
    "publish",
    "push",
    "release",
    "send-email",
    "submit",
];

/// A command that has one of these words sends every branch or tag.
const EVERYTHING: [&str; 5] = ["--all", "--branches", "--follow-tags", "--mirror", "--tags"];

/// What may stand before a program's name.
const BEFORE_PROGRAM: [&str; 9] = [
    "!", "builtin", "command", "do", "else", "if", "then", "time", "{",
];

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

/// Options of `git push` that a value follows, and no remote.
const PUSH_OPTIONS: [&str; 5] = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// Reads commands one after another, and follows their folders.
struct Reader<'p> {
    at: At<'p>,
    /// Where the next command may run: one folder, or several if nobody knows which.
    here: Vec<PathBuf>,
    /// All folders so far.
    seen: Vec<PathBuf>,
    /// The text of each command but `cd`: where a folder is, nobody publishes.
    lines: Vec<String>,
    /// The words of all commands.
    words: Vec<String>,
    /// What all commands take of a repository together.
    wanted: Wanted,
    /// What the commands publish so far, one part for each folder and kind.
    parts: Vec<Part>,
}

impl<'p> Reader<'p> {
    /// Begins in the session's folder.
    fn new(at: At<'p>) -> Self {
        Self {
            at,
            here: vec![at.folder.to_owned()],
            seen: vec![at.folder.to_owned()],
            lines: Vec::new(),
            words: Vec::new(),
            wanted: Wanted::default(),
            parts: Vec::new(),
        }
    }

    /// Notes what each command of a script names and publishes, one after another. `cd src` moves
    /// the next ones, `echo git push` is only a text, and `git push` publishes.
    fn read(&mut self, script: &Script) {
        for word in script.commands.iter().flatten() {
            self.wanted.amends |= word == "--amend";
            for name in names_in(word) {
                if !self.wanted.words.iter().any(|known| known == name) {
                    self.wanted.words.push(name.to_owned());
                }
            }
            self.words.push(word.clone());
        }
        self.wanted.forces |= script.commands.iter().any(|words| forces(words));
        self.wanted.takes_all |= script.commands.iter().any(|words| takes_all(words));
        for command in &script.commands {
            let is_before = |word: &&String| BEFORE_PROGRAM.contains(&word.as_str());
            let before = command.iter().take_while(is_before).count();
            let words = command.get(before..).unwrap_or_default();
            match words.first().map(String::as_str) {
                Some("cd" | "pushd") => self.enter(words),
                // Nobody knows in which folder the commands behind `popd` or a subshell run.
                Some("popd" | CLOSING) => self.here.clone_from(&self.seen),
                Some(program) if READING.contains(&program) => self.lines.push(words.join(" ")),
                _ => self.read_program(words),
            }
        }
    }

    /// Goes to the folder behind `cd`: to `src` with `cd -P src`, and to the home with `cd`.
    fn enter(&mut self, words: &[String]) {
        let mut arguments = words.iter().skip(1);
        let target = arguments.find(|word| !matches!(word.as_str(), "-L" | "-P" | "--"));
        self.here = self.folders(target.map_or("~", String::as_str));
        for folder in &self.here {
            if !self.seen.contains(folder) {
                self.seen.push(folder.clone());
            }
        }
    }

    /// What this folder means from where the next command may run. What `-` and `$X` mean, nobody
    /// knows: each of the folders so far.
    fn folders(&self, typed: &str) -> Vec<PathBuf> {
        if typed == "-" || typed.contains('$') {
            return self.seen.clone();
        }
        let path = expand(typed, self.at.home);
        self.here.iter().map(|here| here.join(&path)).collect()
    }

    /// Notes what the command of these words publishes. `git -C src push` does so in `src`.
    fn read_program(&mut self, words: &[String]) {
        let mut line = words.to_vec();
        let mut folders = self.here.clone();
        // Behind the verb, as in `git commit -C X`, it means a message.
        let mut until_verb = words.iter().take_while(|word| !is_verb(word));
        if let Some(option) = until_verb.position(|word| word == "-C")
            && let Some(folder) = words.get(option + 1)
        {
            folders = self.folders(folder);
            line.remove(option + 1);
        }
        self.lines.push(line.join(" "));
        let Some((kind, arguments)) = publishing(words) else {
            return;
        };
        // A shell takes `..` away before it follows links, and `cd -P` and git do not.
        let folded: Vec<PathBuf> = folders.iter().map(|folder| normal(folder)).collect();
        for folder in folded.into_iter().chain(folders) {
            let part = self.part(folder, kind, arguments);
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        }
    }

    /// What a command of this kind publishes with these arguments. Git and jj send a file as it is
    /// only by an option. The other programs may send each file that a word names.
    fn part(&self, folder: PathBuf, kind: Kind, arguments: &[String]) -> Part {
        let files = match kind {
            Kind::Commits | Kind::Changes => files_of_options(&self.words),
            Kind::Sends | Kind::Files => self.wanted.words.clone(),
        };
        let mut wanted = None;
        if kind != Kind::Files {
            // `npm publish` and the like pack what is in the folder, also what git does not have.
            let is_packing = has_one_of(arguments, &["publish"]);
            wanted = Some(Wanted {
                takes_all: self.wanted.takes_all || is_packing,
                sends: sent(kind, arguments),
                ..self.wanted.clone()
            });
        }
        Part {
            folder,
            wanted,
            files,
        }
    }

    /// The text that leaves with the commands, without the folders that everybody here knows.
    fn published(&self, heredocs: &[String]) -> String {
        let mut text = self.lines.join("\n");
        for heredoc in heredocs {
            text.push('\n');
            text += heredoc;
        }
        for known in [Some(self.at.folder), self.at.home].into_iter().flatten() {
            if let Some(path) = known.to_str()
                && path != "/"
            {
                text = text.replace(path, "");
            }
        }
        text
    }
}

/// Whether one of these words is `wanted`.
fn has_one_of(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// Which commits a command with these arguments sends, if it sends any. `jj` sends what it likes.
fn sent(kind: Kind, arguments: &[String]) -> Option<Sent> {
    if !has_one_of(arguments, &SENDING) {
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
    let is_object = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_folder = ["heads/", "tags/", "remotes/"]
        .iter()
        .any(|start| name.starts_with(start));
    !name.is_empty() && !name.contains(['*', '@', '{', '$']) && !is_object && !is_folder
}

impl Part {
    /// Which commits this part sends, if it sends any.
    fn sends(&self) -> Option<&Sent> {
        self.wanted.as_ref()?.sends.as_ref()
    }

    /// Whether this part has all of the other one, as `git push` has of `git commit`, and more.
    fn covers(&self, other: &Self) -> bool {
        let is_more = self.sends().is_some() && other.wanted.is_some() && other.sends().is_none();
        is_more && self.folder == other.folder && self.files == other.files
    }
}

/// How these words publish, and the words behind the program's name: of `sudo git push origin`,
/// they are `push` and `origin`. None if they do not publish: `git log`.
fn publishing(words: &[String]) -> Option<(Kind, &[String])> {
    for (index, word) in words.iter().enumerate() {
        let rest = words.get(index + 1..).unwrap_or_default();
        if sends_files(program(word), rest) {
            return Some((Kind::Files, rest));
        }
        for (name, kind, verbs) in PUBLISHING {
            let is_program = name == "*" || name == program(word);
            if is_program && has_verb(rest, verbs) {
                return Some((kind, rest));
            }
        }
    }
    None
}

/// A program's own name: `git` of `/usr/bin/git`.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether one of these words is a verb, and the word behind it does not say that it only looks.
fn has_verb(words: &[String], verbs: &[&str]) -> bool {
    let mut from_verb = words.iter().skip_while(|word| !verbs.contains(&&***word));
    from_verb.next().is_some()
        && !from_verb
            .next()
            .is_some_and(|word| LOOKING.contains(&&**word))
}

/// Whether some program publishes with this word.
fn is_verb(word: &str) -> bool {
    PUBLISHING.iter().any(|(_, _, verbs)| verbs.contains(&word))
}

/// Whether this program sends files or a text with these arguments: `curl -d x`, `scp a host:`.
fn sends_files(program: &str, arguments: &[String]) -> bool {
    match program {
        "curl" => arguments.iter().any(|word| is_upload(word)),
        "scp" | "rsync" => arguments.last().is_some_and(|word| is_remote(word)),
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

/// Whether these words add all changed files: `git add -A`, `git commit -am x`, all of `jj`; or
/// what a variable stands for, which nobody knows. `git add .` names a folder, as `git add src`
/// does.
fn takes_all(words: &[String]) -> bool {
    let adds = ["add", "commit", "stage"];
    let mut from_verb = words.iter().skip_while(|word| !adds.contains(&&***word));
    let Some(verb) = from_verb.next() else {
        return has_one_of(words, &["jj"]);
    };
    // Without a word, as in `xargs git add`, something else says what is added.
    let names = from_verb.clone().filter(|word| !word.starts_with('-'));
    let is_open = verb != "commit" && names.count() == 0;
    has_one_of(words, &["jj", "xargs"]) || is_open || from_verb.any(|word| is_all(word))
}

/// Whether these words add ignored files, too: `git add -f conf`, `git add -fA`.
fn forces(words: &[String]) -> bool {
    let mut from_verb = words
        .iter()
        .skip_while(|word| !matches!(&***word, "add" | "stage"));
    from_verb.any(|word| {
        let is_short = !word.starts_with("--") && word.starts_with('-') && word.contains('f');
        is_short || (word.len() > 2 && "--force".starts_with(word.as_str()))
    })
}

/// Whether git adds all changed files by this word, or nobody knows which: `-A`, `-am`, `--all`,
/// `:/docs`, `{a,b}.txt`, `~/a`, `--pathspec-from-file=x` or `$FILES`. `-m` and `src` are none.
fn is_all(word: &str) -> bool {
    if matches!(word, "--all" | "--update") || word.starts_with("--pathspec-from") {
        return true;
    }
    if let Some(letters) = word.strip_prefix('-') {
        // Behind these letters, a value begins: of `-ma`, `a` is the message.
        let mut flags = letters.chars().take_while(|c| !"mFCct-".contains(*c));
        return flags.any(|c| matches!(c, 'a' | 'A' | 'u'));
    }
    let is_open = word.starts_with([':', '~']) || word.contains(['$', '{']);
    is_open && !word.contains(char::is_whitespace)
}

/// What a word may name: a file, a branch. `f=@a.txt;type=b` has `f`, `a.txt`, `type` and `b`.
fn names_in(word: &str) -> Vec<&str> {
    let mut names = vec![word];
    names.extend(glued(word));
    names.extend(word.split(['=', '@', ':', ';', '+']));
    names.retain(|name| !name.is_empty() && !name.starts_with('-'));
    names
}

/// The value of a short option that is joined to it: `msg` of `-Fmsg`.
fn glued(word: &str) -> Option<&str> {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    word.get(2..).filter(|value| is_short && !value.is_empty())
}

/// The files whose texts leave by options of git ([`FILE_OPTIONS`]): `msg` of `-F msg`, `-Fmsg` and
/// `--file=msg`, and `conf` of `git add -f conf`.
fn files_of_options(words: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    // Whether the word before is an option that a file's name follows.
    let mut is_file = false;
    for word in words {
        if is_file {
            files.push(word.clone());
        }
        is_file = FILE_OPTIONS.contains(&&**word);
        if let Some((option, file)) = word.split_once('=')
            && FILE_OPTIONS.contains(&option)
        {
            files.push(file.to_owned());
        }
        if let Some(file) = glued(word)
            && word.starts_with("-F")
        {
            files.push(file.to_owned());
        }
    }
    files
}

/// The path that a shell makes of this word, relative to where it is.
pub(crate) fn expand(word: &str, home: Option<&Path>) -> PathBuf {
    match (word.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(word),
    }
}

#[cfg(test)]
mod tests;
