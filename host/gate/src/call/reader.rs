//! Reads the commands of a shell, one after another: in which folders they run, what variables
//! stand for, and what all of them publish together.

use super::{
    At, Call, Part,
    publishing::{COMMITTING, Kind, may_name_commit, program, publishing, sent_commits},
    words::{
        expand, files_of_options, forces, has_one_of, is_variable, names_in, split_at_variable,
        takes,
    },
};
use crate::shell::{CLOSING, OPENING, SUBSTITUTION, Script};
use keyhole_outgoing::{Sent, Takes, Wanted};
use keyhole_walk::normal;
use std::{
    collections::BTreeMap,
    env, mem,
    path::{Path, PathBuf},
};

/// How deep texts that shells are given are read, and values of variables.
const MAX_NESTED: usize = 3;

/// How many folders a call enters at most, and steps that publish. A program stands among so many
/// words of its command.
pub(super) const MAX_STEPS: usize = 64;

/// The bytes that variables and folders add to the words of a call at most. So a long call costs as
/// much as it is long.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// What a shell's command may publish. Texts that it hands to another shell, as in
/// `bash -c 'git push'`, are read, too. None if nothing in it publishes.
pub(super) fn call_of_command(command: &str, at: At<'_>) -> Option<Call> {
    let script = Script::of(command);
    let mut reader = Reader::new(at);
    reader.read(&script);
    let mut text = reader.text_that_leaves(&script);
    reader.read_nested(&script, MAX_NESTED);
    if reader.is_too_much() {
        return Some(Call {
            is_too_much: true,
            ..Call::default()
        });
    }
    if reader.is_unclear {
        // It may be any command: all of the session's folder may leave.
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
const READERS: [&str; 13] = [
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
    folders_now: Vec<PathBuf>,
    /// All folders that commands have entered so far. The first is the session's.
    entered: Vec<PathBuf>,
    /// The text of each command but `cd`: where a folder is, nobody publishes.
    texts: Vec<String>,
    /// The words of all commands.
    words: Vec<String>,
    /// The words of all commands but git's.
    words_but_gits: Vec<String>,
    /// The files whose texts leave as they are: by options ([`files_of_options`]), or because a
    /// command in `$(…)` may print them.
    whole_files: Vec<String>,
    /// See [`Part::trees`].
    trees: Vec<String>,
    /// What the variables stand for that the commands set. One may have several values.
    variables: BTreeMap<String, Vec<String>>,
    /// See [`MAX_ADDED_BYTES`].
    added_bytes: usize,
    /// The brackets that are open.
    brackets: Vec<Bracket>,
    /// Whether something was not understood.
    is_unclear: bool,
    /// Whether a command writes into a file, perhaps what another file has.
    writes: bool,
    /// Whether git brings in what commits or a stash have.
    brings_in: bool,
    /// What all commands take of a repository together.
    wanted: Wanted,
    /// What publishes, each once.
    steps: Vec<Step>,
}

/// An open bracket, `(` or `$(`.
struct Bracket {
    /// Where the command before it runs.
    folders: Vec<PathBuf>,
    /// Whether it is `$(`, or another one whose output goes into a command: a backtick, `<(`.
    is_substitution: bool,
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
        let folders_now = vec![at.folder.to_owned()];
        let mut reader = Self {
            home: at.home,
            entered: folders_now.clone(),
            folders_now,
            ..Self::default()
        };
        if let Some(home) = at.home.and_then(Path::to_str) {
            reader.note_value("HOME", home);
        }
        reader
    }

    /// Whether there is more than is looked at. Then nothing more is read, which could take long.
    fn is_too_much(&self) -> bool {
        let steps = self.entered.len().max(self.steps.len());
        steps > MAX_STEPS || self.added_bytes > MAX_ADDED_BYTES
    }

    /// Notes what each command of a script names and publishes, one after another. `cd src` moves
    /// the next ones, `echo git push` is only a text, and `git push` publishes. Stops if there is
    /// too much.
    fn read(&mut self, script: &Script) {
        self.is_unclear |= script.is_unclear;
        self.writes |= !script.outputs.is_empty();
        for command in &script.commands {
            self.note_variables(command);
        }
        for command in &script.commands {
            if self.is_too_much() {
                return;
            }
            let expanded = self.expanded(command);
            let mut words = expanded.as_slice();
            // `then git push` runs `git`.
            while let [first, rest @ ..] = words
                && BEFORE_PROGRAM.contains(&first.as_str())
            {
                words = rest;
            }
            match words.first().map(String::as_str) {
                Some("cd" | "pushd") => self.enter(words),
                Some(mark @ (OPENING | SUBSTITUTION)) => self.brackets.push(Bracket {
                    folders: self.folders_now.clone(),
                    is_substitution: mark == SUBSTITUTION,
                }),
                Some(CLOSING) => self.leave_bracket(),
                // Nobody knows in which folder the commands behind `popd` run.
                Some("popd") => self.folders_now.clone_from(&self.entered),
                _ => self.read_program(words),
            }
        }
    }

    /// Goes back to the folders before the bracket that ends. If none is open, nobody knows which
    /// these are: each of the folders so far.
    fn leave_bracket(&mut self) {
        self.folders_now = match self.brackets.pop() {
            Some(bracket) => bracket.folders,
            None => self.entered.clone(),
        };
    }

    /// Notes the options in these words, all names that they may mean, and what they copy. A
    /// file that git's words name leaves by its repository: they are not in `words_but_gits`.
    fn note_names(&mut self, words: &[String]) {
        self.wanted.amends |= has_one_of(words, &["--amend"]);
        self.wanted.forces |= forces(words);
        self.wanted.takes = self.wanted.takes.max(takes(words));
        self.writes |= has_one_of(words, &["patch", "tee"]);
        let mut meant_words = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let meanings = self.meanings(word);
            self.words.extend_from_slice(&meanings);
            // The first of several words is a program, whose file does not leave. A lone word is
            // the file of `$(<a)`.
            if index > 0 || words.len() == 1 {
                meant_words.extend(meanings);
            }
        }
        let names = meant_words.iter().flat_map(|word| names_in(word));
        let named = self.with_paths(names.map(str::to_owned).collect());
        self.wanted.words.extend(named);
        let option_files = self.with_paths(files_of_options(&meant_words));
        self.whole_files.extend(option_files);
        if words.iter().any(|word| program(word) == "git") {
            // `git apply f` and `git commit -F - <f` take the text of a file that git may not have.
            if has_one_of(words, &["am", "apply", "-"]) {
                let read = self.with_paths(meant_words);
                self.whole_files.extend(read);
            }
            return;
        }
        if has_one_of(words, &COPYING)
            && let Some((_target, copied)) = meant_words.split_last()
        {
            let trees = self.with_paths(copied.to_vec());
            self.trees.extend(trees);
        }
        let but_git = self.with_paths(meant_words);
        if self.brackets.iter().any(|open| open.is_substitution) {
            self.whole_files.extend_from_slice(&but_git);
        }
        self.words_but_gits.extend(but_git);
    }

    /// These names, and the path that each has from the current folders: another command may publish
    /// elsewhere.
    fn with_paths(&mut self, mut names: Vec<String>) -> Vec<String> {
        for name in names.clone() {
            names.extend(self.paths_of(&name));
        }
        names
    }

    /// The path that a name has from each current folder. A path that is no UTF-8 is left out.
    /// Stops when all paths together have more than [`MAX_ADDED_BYTES`].
    fn paths_of(&mut self, name: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for folder in &self.folders_now {
            if self.is_too_much() {
                break;
            }
            let path = folder.join(name).into_os_string();
            self.added_bytes += path.len();
            paths.extend(path.into_string());
        }
        paths
    }

    /// Reads the texts that a script hands to a shell, and the texts in these, `levels` deep.
    /// Nobody knows where they run: each of the folders so far counts. A script that runs no shell
    /// hands over nothing.
    fn read_nested(&mut self, script: &Script, levels: usize) {
        let is_run = |words: &&Vec<String>| words.iter().any(|word| is_shell(word));
        let shells: Vec<&Vec<String>> = script.commands.iter().filter(is_run).collect();
        if levels == 0 || shells.is_empty() {
            return;
        }
        let mut texts = script.heredocs.clone();
        for word in shells.into_iter().flatten() {
            texts.extend(self.meanings(word));
        }
        // A text of several words may be a command.
        texts.retain(|text| text.contains(char::is_whitespace));
        for text in &texts {
            let inner = Script::of(text);
            self.folders_now.clone_from(&self.entered);
            self.read(&inner);
            self.read_nested(&inner, levels - 1);
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

    /// The words of a command, with its value in the place of each variable that has only one. The
    /// value is one word or several if its word has nothing else: with `G='git -C a'`, `$G push` is
    /// `git -C a push`.
    fn expanded(&mut self, command: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        for word in command {
            let meanings = self.meanings(word);
            let [only] = meanings.as_slice() else {
                words.push(word.clone());
                continue;
            };
            match split_at_variable(word) {
                Some(("", _, "")) => words.extend(only.split_whitespace().map(str::to_owned)),
                _ => words.push(only.clone()),
            }
        }
        words
    }

    /// What a word may mean: the word with each value of its first variable, and of the variables
    /// in these, [`MAX_NESTED`] deep.
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

    /// Adds this word with each value of its first variable. Without a variable, or if nobody knows
    /// its values, the word is added as it is. Stops if there is too much.
    fn add_replaced(&mut self, word: String, replaced: &mut Vec<String>) {
        let Some((before, name, behind)) = split_at_variable(&word) else {
            replaced.push(word);
            return;
        };
        let elsewhere = match name {
            "PWD" => Some(texts_of(&self.folders_now)),
            "OLDPWD" => Some(texts_of(&self.entered)),
            _ => env::var(name).ok().map(|value| vec![value]),
        };
        let values = self.variables.get(name).or(elsewhere.as_ref());
        let Some(known) = values else {
            replaced.push(word);
            return;
        };
        for value in known {
            self.added_bytes += word.len() + value.len();
            if self.is_too_much() {
                return;
            }
            replaced.push(format!("{before}{value}{behind}"));
        }
    }

    /// Goes to the folder behind `cd`: to `src` with `cd -P src`, and to the home with `cd`. With a
    /// variable that has several values, that is several folders. Stops if too many are entered.
    fn enter(&mut self, words: &[String]) {
        let mut arguments = words.iter().skip(1);
        let target = arguments.find(|word| !matches!(word.as_str(), "-L" | "-P" | "--"));
        let folders = self.meant_folders(target.map_or("~", String::as_str));
        for folder in &folders {
            if self.is_too_much() {
                return;
            }
            if !self.entered.contains(folder) {
                self.entered.push(folder.clone());
            }
        }
        self.folders_now = folders;
    }

    /// The folders that this typed one may mean from each current folder. Nobody knows what `-` and
    /// an unknown `$X` mean: each of the folders so far.
    fn meant_folders(&mut self, typed: &str) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for meant in self.meanings(typed) {
            if meant == "-" || meant.contains('$') {
                folders.extend_from_slice(&self.entered);
                continue;
            }
            let path = expand(&meant, self.home);
            for folder in &self.folders_now {
                let target = folder.join(&path);
                self.added_bytes += target.as_os_str().len();
                folders.push(target);
            }
        }
        folders
    }

    /// Notes the names and the text of this command, and each step that it publishes: in the current
    /// folders, or in `src` for `git -C src push`. A command that publishes nothing adds no step.
    fn read_program(&mut self, words: &[String]) {
        let Some((option, folder)) = folder_option(words) else {
            return self.read_words(words);
        };
        let folders = self.meant_folders(folder);
        let before = mem::replace(&mut self.folders_now, folders);
        let mut others = words.to_vec();
        others.drain(option..option + 2);
        // Each further `-C` is relative to the one before.
        if !self.is_too_much() {
            self.read_program(&others);
        }
        self.folders_now = before;
    }

    /// The same of the words without such an option.
    fn read_words(&mut self, words: &[String]) {
        self.note_names(words);
        let text = self.text_of(words);
        self.texts.push(text);
        // It sends nothing, but its text may reach a command that does.
        if words.first().is_some_and(|word| READERS.contains(&&**word)) {
            return;
        }
        let Some((kind, arguments)) = publishing(words) else {
            return;
        };
        if kind == Kind::BringsIn {
            self.brings_in = true;
            return;
        }
        let pushes = self.meant_pushes(sent_commits(kind, arguments));
        // A shell takes `..` away before it follows links, and `cd -P` and git do not: both count.
        let folders = self.folders_of(kind, arguments);
        let without_dots: Vec<PathBuf> = folders.iter().map(|folder| normal(folder)).collect();
        for folder in without_dots.into_iter().chain(folders) {
            if self.is_too_much() {
                return;
            }
            for sends in &pushes {
                let step = Step {
                    folder: folder.clone(),
                    kind,
                    sends: sends.clone(),
                };
                if !self.steps.contains(&step) {
                    self.steps.push(step);
                }
            }
        }
    }

    /// The same push for each remote that a variable may stand for. If nobody knows its values, it
    /// is as if the push named no remote.
    fn meant_pushes(&mut self, push: Option<Sent>) -> Vec<Option<Sent>> {
        let Some(remote) = push.as_ref().and_then(|sent| sent.remote.clone()) else {
            return vec![push];
        };
        let all = push.is_some_and(|sent| sent.all);
        let meanings = self.meanings(&remote).into_iter();
        let remotes = meanings.map(|meant| Some(meant).filter(|name| !name.contains('$')));
        remotes.map(|remote| Some(Sent { remote, all })).collect()
    }

    /// What the steps publish: one part for each step that no other step covers (with `git commit`
    /// and `git push`, only the push counts). Each part may send all files and commits that the
    /// command's words name.
    fn parts(mut self) -> Vec<Part> {
        if self.brings_in {
            // It may be the stash that is brought in.
            self.wanted.words.push("refs/stash".to_owned());
        }
        self.wanted.words.sort_unstable();
        self.wanted.words.dedup();
        let mut whole_files = self.whole_files.clone();
        // What is written into a file may be the text of any file that a word names.
        if self.writes {
            whole_files.extend_from_slice(&self.words_but_gits);
        }
        let makes_commit = has_one_of(&self.words, &COMMITTING);
        let names_commit = self.words.iter().any(|word| may_name_commit(word));
        let mut parts = Vec::new();
        for step in &self.steps {
            if self.steps.iter().any(|other| other.covers(step)) {
                continue;
            }
            let mut files = whole_files.clone();
            // Only git and jj need an option to send a file as it is.
            if !step.is_of_git() {
                files.clone_from(&self.wanted.words);
            }
            let mut sends = step.sends.clone();
            if self.brings_in {
                // A commit that is named by its digits may be of any branch.
                sends.get_or_insert_default().all |= names_commit;
            }
            // `jj` commits all changes. `npm publish` packs also what git does not have.
            let takes_uncommitted = matches!(step.kind, Kind::TakesChanges | Kind::Packs);
            let mut takes = self.wanted.takes;
            if step.kind == Kind::Packs {
                takes = Takes::All;
            }
            let wanted = Wanted {
                only_committed: !makes_commit && !takes_uncommitted,
                takes,
                sends,
                ..self.wanted.clone()
            };
            // `curl` and the like send nothing of a repository, and only files.
            parts.push(Part {
                folder: step.folder.clone(),
                wanted: Some(wanted).filter(|_| step.kind != Kind::SendsFiles),
                files,
                trees: self.trees.clone(),
            });
        }
        parts
    }

    /// The folders in which a command of this kind publishes with these arguments: the current ones;
    /// and of `npm publish ../e` and `gh repo create --source=../e` also each that a word may name.
    fn folders_of(&self, kind: Kind, arguments: &[String]) -> Vec<PathBuf> {
        let mut folders = self.folders_now.clone();
        if matches!(kind, Kind::Packs | Kind::SendsBranch) {
            let named = arguments.iter().flat_map(|word| names_in(word));
            for name in named {
                // A text with a blank is a message.
                if !name.contains('/') || name.contains(char::is_whitespace) {
                    continue;
                }
                let path = expand(name, self.home);
                folders.extend(self.folders_now.iter().map(|folder| folder.join(&path)));
            }
        }
        folders
    }

    /// The text of these words. Of a word that is a path, the session's folder and the home are left
    /// out: where a file is, nobody publishes. A folder `/` stays.
    fn text_of(&self, words: &[String]) -> String {
        let mut texts = words.to_vec();
        let folder = self.entered.first().map(PathBuf::as_path);
        for known in [folder, self.home].into_iter().flatten() {
            let Some(path) = known.to_str().filter(|path| *path != "/") else {
                continue;
            };
            for text in &mut texts {
                if !text.contains(char::is_whitespace) || text.starts_with(path) {
                    *text = text.replace(path, "");
                }
            }
        }
        texts.join(" ")
    }

    /// The text that leaves with the commands: their own, the heredocs, and the names of the files
    /// that they write.
    fn text_that_leaves(&self, script: &Script) -> String {
        let mut texts = self.texts.clone();
        texts.extend_from_slice(&script.heredocs);
        if !script.outputs.is_empty() {
            texts.push(self.text_of(&script.outputs));
        }
        texts.join("\n")
    }
}

/// Where `-C` stands in these words, and the folder behind it. None without it; behind
/// `git commit`, where it means a message; and for programs with another meaning of it.
fn folder_option(words: &[String]) -> Option<(usize, &str)> {
    if has_one_of(words, &["curl", "rsync", "scp"]) {
        return None;
    }
    let option = words
        .iter()
        .take_while(|word| *word != "commit")
        .position(|word| word == "-C")?;
    Some((option, words.get(option + 1)?))
}

/// These folders, as texts. One that is no UTF-8 is left out.
fn texts_of(folders: &[PathBuf]) -> Vec<String> {
    folders
        .iter()
        .filter_map(|folder| folder.to_str().map(str::to_owned))
        .collect()
}

impl Step {
    /// Whether git or jj does it, which sends a file as it is only by an option. The other programs
    /// may send each file that a word names.
    const fn is_of_git(&self) -> bool {
        matches!(self.kind, Kind::Commits | Kind::Pushes | Kind::TakesChanges)
    }

    /// Whether this step has all of the other one, as `git push` has of `git commit`, and more.
    fn covers(&self, other: &Self) -> bool {
        let is_more =
            self.sends.is_some() && other.kind != Kind::SendsFiles && other.sends.is_none();
        is_more && self.folder == other.folder && self.is_of_git() == other.is_of_git()
    }
}
