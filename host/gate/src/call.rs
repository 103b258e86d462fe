//! What a call would publish, by its words alone: nothing is looked up here.
//!
//! The words are a help, and no proof: what a script does, nobody sees in its name.

use crate::shell::{CLOSING, OPENING, Script};
use keyhole_claude::paths::normal;
use keyhole_outgoing::{Sent, Wanted};
use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
};

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
    /// Whether the call may make a commit of what is staged, or takes what is changed.
    pub commits: bool,
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
const SENDING_TOOLS: [&str; 19] = [
    "_write",
    "add_message",
    "comment",
    "commit",
    "create",
    "draft",
    "editjira",
    "merge",
    "patch",
    "post",
    "publish",
    "push",
    "reply",
    "review",
    "save",
    "send",
    "submit",
    "update",
    "upload",
];

/// How deep texts that shells are given are read.
const MAX_NESTED: usize = 3;

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
    match input.as_object() {
        Some(fields) => fields
            .values()
            .for_each(|field| add_texts(&mut text, field)),
        None => add_texts(&mut text, input),
    }
    Some(Call {
        text,
        parts: vec![Part {
            folder: at.folder.to_owned(),
            ..Part::default()
        }],
    })
}

/// Adds all strings and numbers of a tool's input, a line each. Of the fields, the outermost ones
/// have names of the tool's own. Others may name a file.
fn add_texts(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => {
            *text += string;
            text.push('\n');
        }
        Value::Number(number) => *text += &format!("{number}\n"),
        Value::Array(values) => values.iter().for_each(|value| add_texts(text, value)),
        Value::Object(fields) => {
            for (name, field) in fields {
                *text += &format!("{name}\n");
                add_texts(text, field);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// What a shell's command may publish. It may hand a text to another shell, as `bash -c 'git push'`
/// does.
fn of_command(command: &str, at: At<'_>) -> Option<Call> {
    let script = Script::of(command);
    let mut reader = Reader::new(at);
    reader.read(&script);
    let mut text = reader.published(&script.heredocs);
    reader.read_nested(&script, MAX_NESTED);
    if reader.is_unclear && may_publish(command) {
        reader.note_everything();
        text.push('\n');
        text += command;
    }
    if reader.parts.is_empty() {
        return None;
    }
    let all = reader.parts.clone();
    let mut parts = reader.parts;
    parts.retain(|part| !all.iter().any(|other| other.covers(part)));
    Some(Call { text, parts })
}

/// Whether a text that is not understood has words with which programs publish.
fn may_publish(text: &str) -> bool {
    let mut words = ["commit", "push", "publish", "upload", "gh ", "curl"].iter();
    words.any(|word| text.contains(word))
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
    /// It sends its text, and files that it names: `curl`, `scp`, `rsync`, `docker push`.
    Files,
}

/// What only reads or shows, whatever words follow.
const READING: [&str; 13] = [
    "cat", "echo", "grep", "head", "less", "ls", "man", "printf", "rg", "sed", "tail", "wc",
    "which",
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

/// Options before a verb that a value follows.
const VALUE_OPTIONS: [&str; 10] = [
    "-C",
    "-F",
    "-R",
    "-c",
    "--filter",
    "--git-dir",
    "--manifest-path",
    "--prefix",
    "--repo",
    "--work-tree",
];

/// Verbs of git that may make a commit of what is staged.
const COMMITTING: [&str; 7] = [
    "--continue",
    "am",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "revert",
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
    /// What the variables stand for that the commands set. One may have several values.
    variables: Vec<(String, String)>,
    /// Where the commands around the present brackets run.
    outer: Vec<Vec<PathBuf>>,
    /// Whether something was not understood.
    is_unclear: bool,
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
            variables: Vec::new(),
            outer: Vec::new(),
            is_unclear: false,
            wanted: Wanted::default(),
            parts: Vec::new(),
        }
    }

    /// Notes what each command of a script names and publishes, one after another. `cd src` moves
    /// the next ones, `echo git push` is only a text, and `git push` publishes.
    fn read(&mut self, script: &Script) {
        self.is_unclear |= script.is_unclear;
        self.note_variables(script);
        self.variables.truncate(8 * MAX_MEANINGS);
        for word in script.commands.iter().flatten() {
            self.wanted.amends |= word == "--amend";
            for meant in self.meanings(word) {
                let names = names_in(&meant).into_iter().map(str::to_owned);
                self.wanted.words.extend(names);
                self.words.push(meant);
            }
        }
        self.wanted.forces |= script.commands.iter().any(|words| forces(words));
        self.wanted.words.sort_unstable();
        self.wanted.words.dedup();
        self.wanted.takes_all |= script.commands.iter().any(|words| takes_all(words));
        for command in &script.commands {
            let is_before = |word: &&String| BEFORE_PROGRAM.contains(&word.as_str());
            let before = command.iter().take_while(is_before).count();
            let words = command.get(before..).unwrap_or_default();
            match words.first().map(String::as_str) {
                Some("cd" | "pushd") => self.enter(words),
                Some(OPENING) => self.outer.push(self.here.clone()),
                Some(CLOSING) => self.here = self.outer.pop().unwrap_or_else(|| self.seen.clone()),
                // Nobody knows in which folder the commands behind `popd` run.
                Some("popd") => self.here.clone_from(&self.seen),
                Some(program) if READING.contains(&program) => self.lines.push(words.join(" ")),
                _ => self.read_program(words),
            }
        }
    }

    /// Reads the texts that a script hands to a shell. Where that runs, nobody knows.
    fn read_nested(&mut self, script: &Script, depth: usize) {
        let is_run = |words: &&Vec<String>| words.iter().any(|word| is_shell(word));
        let shells: Vec<&Vec<String>> = script.commands.iter().filter(is_run).collect();
        if depth == 0 || shells.is_empty() {
            return;
        }
        let words = shells.into_iter().flatten();
        let blank = words.filter(|word| word.contains(char::is_whitespace));
        for text in blank.chain(&script.heredocs) {
            let inner = Script::of(text);
            self.here.clone_from(&self.seen);
            self.read(&inner);
            self.read_nested(&inner, depth - 1);
        }
    }

    /// Notes that all of the session's folder may leave.
    fn note_everything(&mut self) {
        let sends = Sent {
            remote: None,
            all: true,
        };
        let wanted = Wanted {
            takes_all: true,
            sends: Some(sends),
            ..self.wanted.clone()
        };
        self.parts.push(Part {
            folder: self.at.folder.to_owned(),
            wanted: Some(wanted),
            files: self.wanted.words.clone(),
            commits: true,
        });
    }

    /// Notes what variables stand for: with `D=a`, and with `for D in a b`.
    fn note_variables(&mut self, script: &Script) {
        for words in &script.commands {
            for word in words {
                if let Some((name, value)) = word.split_once('=')
                    && is_variable(name)
                {
                    self.variables.push((name.to_owned(), value.to_owned()));
                }
            }
            let mut loop_words = words.iter().skip_while(|word| *word != "for").skip(1);
            let name = loop_words.next();
            let values = loop_words.skip_while(|word| *word != "in").skip(1);
            for (name, value) in name.into_iter().cycle().zip(values) {
                self.variables.push((name.clone(), value.clone()));
            }
        }
    }

    /// What a word may mean: with the values of the first variable in it, and of those in them.
    fn meanings(&self, word: &str) -> Vec<String> {
        let mut meanings = vec![word.to_owned()];
        for _ in 0..MAX_NESTED {
            let replaced = meanings.iter().flat_map(|meant| self.replaced(meant));
            meanings = replaced.take(MAX_MEANINGS).collect();
        }
        meanings
    }

    /// This word with each value of its first variable. A value that nobody knows stays `$X`.
    fn replaced(&self, word: &str) -> Vec<String> {
        let Some((before, name, behind)) = variable(word) else {
            return vec![word.to_owned()];
        };
        let own = self.variables.iter().filter(|(known, _)| known == name);
        let mut values: Vec<String> = own.map(|(_, value)| value.clone()).collect();
        if values.is_empty() {
            let home = self.at.home.filter(|_| name == "HOME");
            let known = home.map(|home| home.as_os_str().to_owned());
            let value = known.or_else(|| env::var_os(name));
            values.extend(value.and_then(|value| value.into_string().ok()));
        }
        if values.is_empty() {
            return vec![word.to_owned()];
        }
        let joined = values
            .iter()
            .map(|value| format!("{before}{value}{behind}"));
        joined.take(MAX_MEANINGS).collect()
    }

    /// Goes to the folder behind `cd`: to `src` with `cd -P src`, and to the home with `cd`.
    fn enter(&mut self, words: &[String]) {
        let mut arguments = words.iter().skip(1);
        let target = arguments.find(|word| !matches!(word.as_str(), "-L" | "-P" | "--"));
        self.here = self.folders(target.map_or("~", String::as_str));
        for folder in &self.here {
            if self.seen.len() > MAX_MEANINGS {
                self.is_unclear = true;
            } else if !self.seen.contains(folder) {
                self.seen.push(folder.clone());
            }
        }
    }

    /// What this folder means from where the next command may run. What `-` and an unknown `$X`
    /// mean, nobody knows: each of the folders so far.
    fn folders(&self, typed: &str) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for meant in self.meanings(typed) {
            if meant == "-" || meant.contains('$') {
                folders.extend(self.seen.iter().cloned());
                continue;
            }
            let path = expand(&meant, self.at.home);
            folders.extend(self.here.iter().map(|here| here.join(&path)));
        }
        folders.truncate(MAX_MEANINGS);
        folders
    }

    /// Notes what the command of these words publishes. `git -C src push` does so in `src`.
    fn read_program(&mut self, words: &[String]) {
        let mut line = words.to_vec();
        let mut folders = self.here.clone();
        // Behind the verb, as in `git commit -C X`, it means a message.
        let mut until_verb = words.iter().take_while(|word| *word != "commit");
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
            if self.parts.len() > MAX_MEANINGS {
                self.is_unclear = true;
                return;
            }
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
            Kind::Commits | Kind::Pushes | Kind::Changes => files_of_options(&self.words),
            Kind::Sends | Kind::Packs | Kind::Files => self.wanted.words.clone(),
        };
        let mut wanted = None;
        if kind != Kind::Files {
            // `npm publish` and the like pack what is in the folder, also what git does not have.
            wanted = Some(Wanted {
                takes_all: self.wanted.takes_all || kind == Kind::Packs,
                sends: sent(kind, arguments),
                ..self.wanted.clone()
            });
        }
        let is_whole = matches!(kind, Kind::Changes | Kind::Packs);
        Part {
            folder,
            wanted,
            files,
            commits: is_whole || has_one_of(&self.words, &COMMITTING),
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
    if matches!(kind, Kind::Commits | Kind::Files) {
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
    for (index, word) in words.iter().enumerate().take(MAX_MEANINGS) {
        let rest = words.get(index + 1..).unwrap_or_default();
        if let Some(kind) = kind(program(word), rest) {
            return Some((kind, rest));
        }
    }
    None
}

/// A program's own name: `git` of `/usr/bin/git`.
fn program(word: &str) -> &str {
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
    let verb = plain.first().copied().unwrap_or_default();
    let second = plain.get(1).copied().unwrap_or_default();
    match program {
        "git" => of_git(verb, second, arguments),
        "jj" => match (verb, second) {
            ("commit" | "submit", _) | (_, "push") => Some(Kind::Changes),
            _ => None,
        },
        "gh" | "glab" => of_hub(verb, second, arguments),
        "docker" | "podman" => {
            let is_pushing = plain.contains(&"push") || has_one_of(arguments, &["--push"]);
            Some(Kind::Files).filter(|_| is_pushing)
        }
        _ if PACKING.contains(&program) && is_packing(verb) => Some(Kind::Packs),
        _ if RUNNING.contains(&program) && plain.iter().any(|word| is_packing(word)) => {
            Some(Kind::Packs)
        }
        _ => None,
    }
}

/// Programs that publish a package if their first word says so.
const PACKING: [&str; 16] = [
    "bun", "cargo", "flit", "gem", "gradle", "gradlew", "hatch", "helm", "lerna", "mvn", "npm",
    "ovsx", "poetry", "twine", "uv", "vsce",
];

/// The same, of programs with which that word may stand behind others.
const RUNNING: [&str; 7] = ["bunx", "dotnet", "npx", "pipx", "pnpm", "uvx", "yarn"];

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
fn of_git(verb: &str, second: &str, arguments: &[String]) -> Option<Kind> {
    match (verb, second) {
        ("commit", _) => Some(Kind::Commits),
        ("push", _) if has_one_of(arguments, &["--dry-run", "-n", "--delete", "-d"]) => None,
        ("push" | "submit" | "send-email", _) => Some(Kind::Pushes),
        ("lfs" | "p4" | "subtree", "push" | "submit") => Some(Kind::Pushes),
        _ => None,
    }
}

/// How `gh` or `glab` publishes with these words.
fn of_hub(noun: &str, verb: &str, arguments: &[String]) -> Option<Kind> {
    let is_making = matches!(verb, "create" | "new");
    match noun {
        "api" => Some(Kind::Files).filter(|_| arguments.iter().any(|word| is_field(word))),
        "pr" | "mr" | "release" if is_making => Some(Kind::Sends),
        "repo" if has_one_of(arguments, &["--push", "--source"]) => Some(Kind::Sends),
        "pr" | "mr" | "issue" | "release" | "gist" | "snippet" | "repo" => {
            let is_sending = is_making
                || matches!(
                    verb,
                    "comment" | "edit" | "merge" | "note" | "update" | "upload"
                )
                || has_option(
                    arguments,
                    &["-b", "-c", "--body", "--comment", "--body-file"],
                );
            Some(Kind::Files).filter(|_| is_sending)
        }
        _ => None,
    }
}

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
    let mut names = from_verb.clone().filter(|word| !word.starts_with('-'));
    let is_open = verb != "commit" && names.next().is_none();
    if is_open || has_one_of(words, &["jj", "xargs"]) {
        return true;
    }
    let mut is_message = false;
    for word in from_verb {
        if is_all(word) && !(is_message && word.contains('$')) {
            return true;
        }
        is_message = word.starts_with('-') && word.ends_with(['m', 'F', 'e']);
    }
    false
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

/// How many values a word has at most, and folders or parts a call. With more, all is compared. A
/// program stands among so many words of its command.
const MAX_MEANINGS: usize = 32;

/// Whether this may name a variable.
fn is_variable(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What stands before the first variable of a word, its name, and what stands behind it.
fn variable(word: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = word.split_once('$')?;
    if let Some((name, behind)) = rest.strip_prefix('{').and_then(|it| it.split_once('}')) {
        return Some((before, name, behind)).filter(|_| is_variable(name));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
    Some((before, name, behind)).filter(|_| is_variable(name))
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
