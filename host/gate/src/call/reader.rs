//! Reads the commands of a shell, one after another: in which folders they run, what variables
//! stand for, and what all of them publish together.

use super::{
    At, Call, Part,
    publishing::{COMMITTING, Kind, is_object, program, publishing, sent},
    words::{
        expand, files_of_options, forces, has_one_of, is_variable, names_in, takes_all, variable,
    },
};
use crate::shell::{CLOSING, OPENING, Script};
use keyhole_claude::paths::normal;
use keyhole_outgoing::{Sent, Wanted};
use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

/// How deep texts that shells are given are read, and values of variables.
const MAX_NESTED: usize = 3;

/// How many folders a call enters at most, and steps that publish. A program stands among so many
/// words of its command.
pub(super) const MAX_STEPS: usize = 64;

/// The bytes that variables and folders add to the words of a call at most. So a long call costs as
/// much as it is long.
const MAX_ADDED: usize = 1 << 20;

/// What a shell's command may publish. It may hand a text to another shell, as `bash -c 'git push'`
/// does.
pub(super) fn of_command(command: &str, at: At<'_>) -> Option<Call> {
    let script = Script::of(command);
    let mut reader = Reader::new(at);
    reader.read(&script);
    let mut text = reader.published(&script.heredocs);
    reader.read_nested(&script, MAX_NESTED);
    if reader.is_too_much() {
        return Some(Call {
            is_too_much: true,
            ..Call::default()
        });
    }
    if reader.is_unclear {
        // All of the session's folder may leave.
        reader.steps.push(Step {
            folder: at.folder.to_owned(),
            kind: Kind::Packs,
            sends: Some(Sent {
                remote: None,
                all: true,
            }),
        });
        text.push('\n');
        text += command;
    }
    if reader.steps.is_empty() {
        return None;
    }
    Some(Call {
        text,
        parts: reader.parts(),
        is_too_much: false,
    })
}

/// Whether this program runs a text that it is given.
fn is_shell(word: &str) -> bool {
    matches!(
        program(word),
        "bash" | "dash" | "eval" | "ksh" | "sh" | "ssh" | "zsh"
    )
}

/// What only reads or shows, whatever words follow.
const READING: [&str; 13] = [
    "cat", "echo", "grep", "head", "less", "ls", "man", "printf", "rg", "sed", "tail", "wc",
    "which",
];

/// What copies files and folders to where its last word says.
const COPYING: [&str; 5] = ["cp", "ln", "mv", "rsync", "scp"];

/// What may stand before a program's name.
const BEFORE_PROGRAM: [&str; 9] = [
    "!", "builtin", "command", "do", "else", "if", "then", "time", "{",
];

/// Reads commands one after another, and follows their folders.
#[derive(Default)]
struct Reader<'p> {
    /// The user's home.
    home: Option<&'p Path>,
    /// Where the next command may run: one folder, or several if nobody knows which.
    here: Vec<PathBuf>,
    /// All folders so far. The first is the session's.
    seen: Vec<PathBuf>,
    /// The text of each command but `cd`: where a folder is, nobody publishes.
    lines: Vec<String>,
    /// The words of all commands.
    words: Vec<String>,
    /// The words of all commands but git's.
    sources: Vec<String>,
    /// See [`Part::whole`].
    whole: Vec<String>,
    /// What the variables stand for that the commands set. One may have several values.
    variables: BTreeMap<String, Vec<String>>,
    /// See [`MAX_ADDED`].
    added: usize,
    /// Where the commands around the present brackets run.
    outer: Vec<Vec<PathBuf>>,
    /// Whether something was not understood.
    is_unclear: bool,
    /// Whether a command writes into a file, perhaps what another file has.
    writes: bool,
    /// Whether git brings in what commits have.
    brings: bool,
    /// What all commands take of a repository together.
    wanted: Wanted,
    /// What publishes, each once.
    steps: Vec<Step>,
}

/// A command that publishes.
#[derive(PartialEq, Eq)]
struct Step {
    /// Where it runs.
    folder: PathBuf,
    kind: Kind,
    /// Which commits it sends, if any.
    sends: Option<Sent>,
}

impl<'p> Reader<'p> {
    /// Begins in the session's folder.
    fn new(at: At<'p>) -> Self {
        let here = vec![at.folder.to_owned()];
        let mut reader = Self {
            home: at.home,
            seen: here.clone(),
            here,
            ..Self::default()
        };
        if let Some(home) = at.home.and_then(Path::to_str) {
            reader.note_value("HOME", home);
        }
        reader
    }

    /// Whether there is more than is looked at. Then nothing more is read, which could take long.
    fn is_too_much(&self) -> bool {
        let steps = self.seen.len().max(self.steps.len());
        steps > MAX_STEPS || self.added > MAX_ADDED
    }

    /// Notes what each command of a script names and publishes, one after another. `cd src` moves
    /// the next ones, `echo git push` is only a text, and `git push` publishes.
    fn read(&mut self, script: &Script) {
        self.is_unclear |= script.is_unclear;
        self.writes |= script.writes;
        for command in &script.commands {
            self.note_variables(command);
        }
        for command in &script.commands {
            if self.is_too_much() {
                return;
            }
            let mut words = command.as_slice();
            while let [first, rest @ ..] = words
                && BEFORE_PROGRAM.contains(&first.as_str())
            {
                words = rest;
            }
            self.note_names(words);
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

    /// Notes all names in these words, and what is taken by them.
    fn note_names(&mut self, words: &[String]) {
        self.wanted.amends |= has_one_of(words, &["--amend"]);
        self.wanted.forces |= forces(words);
        self.wanted.takes_all |= takes_all(words);
        self.writes |= has_one_of(words, &["patch", "tee"]);
        let first = self.words.len();
        for word in words {
            for meant in self.meanings(word) {
                for name in names_in(&meant) {
                    self.note_name(name);
                }
                self.words.push(meant);
            }
        }
        if has_one_of(words, &["git"]) {
            return;
        }
        let typed = self.words.get(first..).unwrap_or_default();
        self.sources.extend_from_slice(typed);
        if has_one_of(words, &COPYING)
            && let Some((_, copied)) = typed.split_last()
        {
            self.whole.extend_from_slice(copied);
        }
    }

    /// Notes a name, and the path that it has from here: the call may publish elsewhere.
    fn note_name(&mut self, name: &str) {
        for here in &self.here {
            if self.is_too_much() {
                return;
            }
            let path = here.join(name).into_os_string();
            self.added += path.len();
            self.wanted.words.extend(path.into_string());
        }
        self.wanted.words.push(name.to_owned());
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

    /// Notes what variables stand for: with `D=a`, and with `for D in a b`.
    fn note_variables(&mut self, words: &[String]) {
        for word in words {
            if let Some((name, value)) = word.split_once('=')
                && is_variable(name)
            {
                self.note_value(name, value);
            }
        }
        let mut loop_words = words.iter().skip_while(|word| *word != "for").skip(1);
        if let Some(name) = loop_words.next() {
            for value in loop_words.skip_while(|word| *word != "in").skip(1) {
                self.note_value(name, value);
            }
        }
    }

    fn note_value(&mut self, name: &str, value: &str) {
        let values = self.variables.entry(name.to_owned()).or_default();
        values.push(value.to_owned());
    }

    /// What a word may mean: with the values of the first variable in it, and of those in them.
    fn meanings(&mut self, word: &str) -> Vec<String> {
        let mut meanings = vec![word.to_owned()];
        for _ in 0..MAX_NESTED {
            let mut replaced = Vec::new();
            for meant in meanings {
                self.add_replaced(meant, &mut replaced);
            }
            meanings = replaced;
        }
        meanings
    }

    /// Adds this word with each value of its first variable. A value that nobody knows stays `$X`.
    fn add_replaced(&mut self, word: String, replaced: &mut Vec<String>) {
        let Some((before, name, behind)) = variable(&word) else {
            replaced.push(word);
            return;
        };
        let outside = env::var(name).ok().map(|value| vec![value]);
        let values = self.variables.get(name).or(outside.as_ref());
        let Some(known) = values else {
            replaced.push(word);
            return;
        };
        for value in known {
            self.added += word.len() + value.len();
            if self.is_too_much() {
                return;
            }
            replaced.push(format!("{before}{value}{behind}"));
        }
    }

    /// Goes to the folder behind `cd`: to `src` with `cd -P src`, and to the home with `cd`.
    fn enter(&mut self, words: &[String]) {
        let mut arguments = words.iter().skip(1);
        let target = arguments.find(|word| !matches!(word.as_str(), "-L" | "-P" | "--"));
        let folders = self.folders(target.map_or("~", String::as_str));
        for folder in &folders {
            if self.is_too_much() {
                return;
            }
            if !self.seen.contains(folder) {
                self.seen.push(folder.clone());
            }
        }
        self.here = folders;
    }

    /// What this folder means from where the next command may run. What `-` and an unknown `$X`
    /// mean, nobody knows: each of the folders so far.
    fn folders(&mut self, typed: &str) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for meant in self.meanings(typed) {
            if meant == "-" || meant.contains('$') {
                folders.extend(self.seen.iter().cloned());
                continue;
            }
            let path = expand(&meant, self.home);
            for here in &self.here {
                let folder = here.join(&path);
                self.added += folder.as_os_str().len();
                folders.push(folder);
            }
        }
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
        self.brings |= kind == Kind::Brings;
        // A shell takes `..` away before it follows links, and `cd -P` and git do not.
        let folded: Vec<PathBuf> = folders.iter().map(|folder| normal(folder)).collect();
        for folder in folded.into_iter().chain(folders) {
            if self.is_too_much() {
                return;
            }
            let step = Step {
                folder,
                kind,
                sends: sent(kind, arguments),
            };
            if kind != Kind::Brings && !self.steps.contains(&step) {
                self.steps.push(step);
            }
        }
    }

    /// What all steps publish, one part for each folder and kind.
    fn parts(mut self) -> Vec<Part> {
        if self.brings {
            self.wanted.words.push("refs/stash".to_owned());
        }
        self.wanted.words.sort_unstable();
        self.wanted.words.dedup();
        let mut named = files_of_options(&self.words);
        if self.writes {
            named.extend_from_slice(&self.sources);
        }
        let commits = has_one_of(&self.words, &COMMITTING);
        let brings_object = self.words.iter().any(|word| is_object(word));
        let mut parts = Vec::new();
        for step in &self.steps {
            if self.steps.iter().any(|other| other.covers(step)) {
                continue;
            }
            let mut files = named.clone();
            if !step.is_of_git() {
                files.clone_from(&self.wanted.words);
            }
            let mut sends = step.sends.clone();
            if self.brings {
                sends.get_or_insert_default().all |= brings_object;
            }
            // `npm publish` and the like pack what is in the folder, also what git does not have.
            let is_whole = matches!(step.kind, Kind::Changes | Kind::Packs);
            let wanted = Wanted {
                only_committed: !commits && !is_whole,
                takes_all: self.wanted.takes_all || step.kind == Kind::Packs,
                sends,
                ..self.wanted.clone()
            };
            parts.push(Part {
                folder: step.folder.clone(),
                wanted: Some(wanted).filter(|_| step.kind != Kind::Files),
                files,
                whole: self.whole.clone(),
            });
        }
        parts
    }

    /// The text that leaves with the commands, without the folders that everybody here knows.
    fn published(&self, heredocs: &[String]) -> String {
        let mut text = self.lines.join("\n");
        for heredoc in heredocs {
            text.push('\n');
            text += heredoc;
        }
        let folder = self.seen.first().map(PathBuf::as_path);
        for known in [folder, self.home].into_iter().flatten() {
            if let Some(path) = known.to_str()
                && path != "/"
            {
                text = text.replace(path, "");
            }
        }
        text
    }
}

impl Step {
    /// Whether git or jj does it, which sends a file as it is only by an option. The other programs
    /// may send each file that a word names.
    const fn is_of_git(&self) -> bool {
        matches!(self.kind, Kind::Commits | Kind::Pushes | Kind::Changes)
    }

    /// Whether this step has all of the other one, as `git push` has of `git commit`, and more.
    fn covers(&self, other: &Self) -> bool {
        let is_more = self.sends.is_some() && other.kind != Kind::Files && other.sends.is_none();
        is_more && self.folder == other.folder && self.is_of_git() == other.is_of_git()
    }
}
