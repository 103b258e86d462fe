//! Reads the commands of a shell, one after another, and notes what they name and publish.

use super::{
    At, Call,
    folders::{BracketKind, Folders},
    noted::{Noted, Step},
    publishing::{Kind, VALUE_OPTIONS, gits_arguments, program, publishing, without_options},
    pushes::{changed_remotes, sends_no_branch, sent_commits},
    shells::{is_shell, may_run_heredoc},
    variables::Variables,
    words::{expand, files_of_options, forces, has_one_of, names_in, takes},
};
use crate::shell::{CLOSING, OPENING, SUBSTITUTION, Script};
use keyhole_outgoing::{Extra, Remote, Sent};
use keyhole_walk::normal;
use std::path::{Path, PathBuf};

/// How deep a command within a command is read, as in `sh -c "sh -c 'git push'"`.
const MAX_NESTED: usize = 3;

/// How many steps of a call publish at most. A program stands among so many words of its command.
pub(super) const MAX_STEPS: usize = 64;

/// What a shell's command may publish, and from which folders: of `cd a && git commit -m x`, its
/// text, and a part for the folder `a`. A text that the command hands to another shell, as in
/// `bash -c 'git push'`, is read, too.
///
/// None if nothing in the command publishes. If it names more than is looked at, the answer says
/// only that. If a quote or a bracket does not end, it also has a part with all of the session's
/// folder, and the whole command as a text.
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
    let mut noted = reader.noted;
    if noted.is_unclear {
        // It may be any command: all of the session's folder may leave.
        noted.steps.push(Step {
            folder: at.folder.to_owned(),
            kind: Kind::Packs,
            sends: Some(Sent {
                remote: Remote::Default,
                extra: Extra::Branches,
                only: Vec::new(),
            }),
        });
        text.push('\n');
        text += command;
    }
    if noted.steps.is_empty() {
        return None;
    }
    Some(Call {
        text,
        parts: noted.parts(reader.folders.entered()),
        is_too_much: false,
    })
}

/// What only reads or shows, whatever words follow.
const READERS: [&str; 13] = [
    "cat", "echo", "grep", "head", "less", "ls", "man", "printf", "rg", "sed", "tail", "wc",
    "which",
];

/// Verbs of git that print what files have.
const PRINTING: [&str; 7] = [
    "archive", "blame", "cat-file", "diff", "grep", "log", "show",
];

/// What copies files and folders to where its last word says.
const COPYING: [&str; 5] = ["cp", "ln", "mv", "rsync", "scp"];

/// What may stand before a program's name.
const BEFORE_PROGRAM: [&str; 9] = [
    "!", "builtin", "command", "do", "else", "if", "then", "time", "{",
];

/// Reads commands one after another, and follows their folders.
struct Reader<'p> {
    /// The user's home.
    home: Option<&'p Path>,
    folders: Folders,
    variables: Variables,
    noted: Noted,
}

impl<'p> Reader<'p> {
    /// A reader of commands that begin in the session's folder, with the user's home in `HOME`.
    fn new(at: At<'p>) -> Self {
        let mut reader = Self {
            home: at.home,
            folders: Folders::new(at.folder),
            variables: Variables::default(),
            noted: Noted::default(),
        };
        let home = at.home.and_then(Path::to_str).map(str::to_owned);
        if let Some(folder) = home {
            reader.variables.set("HOME", vec![folder]);
        }
        reader.set_variables_of_folders();
        reader
    }

    /// Sets the variables that a shell sets itself when it enters a folder.
    fn set_variables_of_folders(&mut self) {
        let now = texts_of(self.folders.now());
        let entered = texts_of(self.folders.entered());
        self.variables.set("PWD", now);
        // Nobody knows which of the folders so far was the last one.
        self.variables.set("OLDPWD", entered);
    }

    /// Whether there is more than is looked at. Then nothing more is read, which could take long.
    const fn is_too_much(&self) -> bool {
        self.folders.is_too_much() || self.variables.is_too_much() || self.noted.is_too_much()
    }

    /// Notes what each command of a script names and publishes, one after another. `cd src` moves
    /// the next ones, `echo git push` is only a text, and `git push` publishes. Stops if there is
    /// too much.
    fn read(&mut self, script: &Script) {
        self.noted.is_unclear |= script.is_unclear;
        for command in &script.commands {
            self.variables.note(command);
        }
        for output in &script.outputs {
            self.noted.outputs.extend(self.variables.meanings(output));
        }
        self.noted.words.extend_from_slice(&script.heredocs);
        for command in &script.commands {
            if self.is_too_much() {
                return;
            }
            let expanded = self.variables.expanded(command);
            let mut words = expanded.as_slice();
            // `then git push` runs `git`.
            while let [first, rest @ ..] = words
                && BEFORE_PROGRAM.contains(&first.as_str())
            {
                words = rest;
            }
            match words.first().map(String::as_str) {
                Some("cd" | "pushd") => self.enter(words),
                Some("popd") => self.folders.enter_any(),
                Some(OPENING) => self.folders.open(BracketKind::Subshell),
                Some(SUBSTITUTION) => self.folders.open(BracketKind::Substitution),
                Some(CLOSING) => self.folders.close(),
                _ => {
                    self.read_program(words);
                    continue;
                }
            }
            self.set_variables_of_folders();
        }
    }

    /// Notes what one command names, by its words:
    /// - its options: `--amend`, `git add -A`;
    /// - each file, branch or tag that a word may name: `src` and `/w/src` of `git add src` in
    ///   `/w`;
    /// - files of which the whole leaves: `msg` of `git commit -F msg`, and `a` in `"$(cat a)"`;
    /// - folders of which the whole leaves: `a` of `cp -r a b`;
    /// - files that the command writes: `a` of `tee a`.
    fn note_names(&mut self, words: &[String]) {
        let wanted = &mut self.noted.wanted;
        wanted.amends |= has_one_of(words, &["--amend"]);
        wanted.forces |= forces(words);
        wanted.takes = wanted.takes.max(takes(words));
        if has_one_of(words, &["patch"]) {
            self.noted.outputs.push(".".to_owned());
        }
        let gits = gits_arguments(words);
        let meant_words = self.note_words(words);
        if gits.is_some_and(sends_no_branch) {
            return;
        }
        let names = meant_words.iter().flat_map(|word| names_in(word));
        let named = self.folders.with_paths(names.map(str::to_owned).collect());
        self.noted.wanted.words.extend_from_slice(&named);
        let option_files = self.folders.with_paths(files_of_options(&meant_words));
        self.noted.whole_files.extend(option_files);
        // `git diff f` prints what the file has, which another command may send.
        if gits.is_some_and(|arguments| !prints(arguments)) {
            // `git apply f` and `git commit -F - <f` take the text of a file that git may not have.
            // Any other file that git's words name leaves by its repository.
            if has_one_of(words, &["am", "apply", "-"]) {
                let read_files = self.folders.with_paths(meant_words);
                self.noted.whole_files.extend(read_files);
            }
            return;
        }
        if has_one_of(words, &COPYING)
            && let Some((_target, copied)) = meant_words.split_last()
        {
            let trees = self.folders.with_paths(copied.to_vec());
            self.noted.trees.extend(trees);
        }
        if self.folders.is_in_substitution() {
            self.noted.whole_files.extend_from_slice(&named);
        }
        self.noted.names_but_gits.extend(named);
    }

    /// Notes the words of one command, with each value that its variables may have, and returns
    /// those that may name something: `push` and `origin` of `git push origin`. The first of
    /// several words is the program, and `:x` of `git push origin :x` is deleted there: both are
    /// left out. A lone word is the file of `$(<a)`. A file behind `tee` is noted as an
    /// output.
    fn note_words(&mut self, words: &[String]) -> Vec<String> {
        let is_push = has_one_of(words, &["push"]);
        let mut is_behind_tee = false;
        let mut meant_words = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let meanings = self.variables.meanings(word);
            if is_behind_tee && !word.starts_with('-') {
                self.noted.outputs.extend_from_slice(&meanings);
            } else {
                self.noted.words.extend_from_slice(&meanings);
            }
            is_behind_tee |= word == "tee";
            let is_program = index == 0 && words.len() > 1;
            let is_deleted = is_push && word.starts_with(':');
            if !is_program && !is_deleted {
                meant_words.extend(meanings);
            }
        }
        meant_words
    }

    /// Reads each text that a script hands to a shell, as [`Self::read`] reads a command: `git
    /// push` of `bash -c 'git push'`, and each heredoc if a shell [may run](may_run_heredoc) one. A
    /// text of one word is none. A text within such a text is read, too, up to `levels` deep; with
    /// 0, nothing is read. Nobody knows in which of the folders so far such a text runs: each of
    /// them counts.
    fn read_nested(&mut self, script: &Script, levels: usize) {
        if levels == 0 {
            return;
        }
        let mut texts = Vec::new();
        let mut runs_heredocs = false;
        for words in &script.commands {
            let mut behind_shell = words.iter().skip_while(|word| !is_shell(word));
            let Some(shell) = behind_shell.next() else {
                continue;
            };
            let arguments: Vec<&str> = behind_shell.map(String::as_str).collect();
            runs_heredocs |= may_run_heredoc(program(shell), &arguments, &self.noted.outputs);
            for word in words {
                texts.extend(self.variables.meanings(word));
            }
        }
        if runs_heredocs {
            texts.extend_from_slice(&script.heredocs);
        }
        texts.retain(|text| text.contains(char::is_whitespace));
        for text in &texts {
            let inner = Script::of(text);
            self.folders.enter_any();
            self.set_variables_of_folders();
            self.read(&inner);
            self.read_nested(&inner, levels - 1);
        }
    }

    /// Goes to the folder behind `cd`: to `src` with `cd -P src`, and to the home with `cd`. With a
    /// variable that has several values, these are several folders.
    fn enter(&mut self, words: &[String]) {
        let mut arguments = words.iter().skip(1);
        let target = arguments.find(|word| !matches!(word.as_str(), "-L" | "-P" | "--"));
        let folders = self.meant_folders(target.map_or("~", String::as_str));
        self.folders.enter(folders);
    }

    /// The folders that this typed path may mean, with each value of its variables.
    fn meant_folders(&mut self, typed: &str) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for meaning in self.variables.meanings(typed) {
            folders.extend(self.folders.meant_by(&meaning, self.home));
        }
        folders
    }

    /// Reads one command in the folders of its `-C`: `git -C src push` as `git push` in `src`, and
    /// `git push` where it is. Behind, the current folders are those of before.
    fn read_program(&mut self, words: &[String]) {
        let Some((option, folder)) = folder_option(words) else {
            return self.read_words(words);
        };
        // Each level has a copy of the words.
        if words.iter().filter(|word| *word == "-C").count() > MAX_STEPS {
            self.noted.is_unclear = true;
            return;
        }
        let folders = self.meant_folders(folder);
        let before = self.folders.replace(folders);
        let mut others = words.to_vec();
        others.drain(option..option + 2);
        // Each further `-C` is relative to the one before.
        if !self.is_too_much() {
            self.read_program(&others);
        }
        self.folders.replace(before);
    }

    /// Notes what one command names, its text, and a step for each of the current folders if it
    /// publishes: of `git push`, one step in each folder. `git log` adds no step, and `git merge f`
    /// only notes that commits are brought in. A command that only shows something adds no step
    /// whatever its words are: `echo git push` (one of [`READERS`]).
    fn read_words(&mut self, words: &[String]) {
        self.note_names(words);
        self.noted.changed_remotes.extend(changed_remotes(words));
        let text = self.text_of(words);
        self.noted.texts.push(text);
        // `cat` and the like send nothing, but their text may reach a command that does.
        if words.first().is_some_and(|word| READERS.contains(&&**word)) {
            return;
        }
        let Some((kind, arguments)) = publishing(words) else {
            return;
        };
        if kind == Kind::BringsIn {
            self.noted.brings_in = true;
            // `git stash pop`, `git checkout stash@{1} -- a`.
            if arguments.iter().any(|word| word.contains("stash")) {
                self.noted.wanted.words.push("refs/stash".to_owned());
            }
            return;
        }
        // One None if the command sends no commits.
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
                if !self.noted.steps.contains(&step) {
                    self.noted.steps.push(step);
                }
            }
        }
    }

    /// The push `git push $R`, once with each remote that `$R` may stand for: with `R=a` and later
    /// `R=b`, these are `a` and `b`. If nobody knows a value, the remote is unknown. A push that
    /// names no remote, and None, stay as they are.
    fn meant_pushes(&mut self, push: Option<Sent>) -> Vec<Option<Sent>> {
        let Some(sent) = push else {
            return vec![None];
        };
        let Remote::Named(name) = &sent.remote else {
            return vec![Some(sent)];
        };
        let mut pushes = Vec::new();
        for meaning in self.variables.meanings(name) {
            let remote = if meaning.contains('$') {
                Remote::Unknown
            } else {
                Remote::Named(meaning)
            };
            pushes.push(Some(Sent {
                remote,
                ..sent.clone()
            }));
        }
        pushes
    }

    /// The folders of which a command of this kind may publish something: the current ones. For
    /// `npm publish ../e` and `gh repo create --source=../e` (kinds [`Kind::Packs`] and
    /// [`Kind::SendsBranch`]), also each folder that an argument with a `/` names, such as `../e`.
    fn folders_of(&self, kind: Kind, arguments: &[String]) -> Vec<PathBuf> {
        let current = self.folders.now();
        let mut folders = current.to_vec();
        if matches!(kind, Kind::Packs | Kind::SendsBranch) {
            let named = arguments.iter().flat_map(|word| names_in(word));
            for name in named {
                // A text with a blank is a message.
                if !name.contains('/') || name.contains(char::is_whitespace) {
                    continue;
                }
                let path = expand(name, self.home);
                folders.extend(current.iter().map(|folder| folder.join(&path)));
            }
        }
        folders
    }

    /// The words as one text, without the paths of the session's folder and of the home: with the
    /// home `/home/u`, `cp /home/u/a b` is `cp /a b`. Where a file is, nobody publishes. A word
    /// with a blank is a message, and keeps the path unless the message begins with it. A folder
    /// `/` stays.
    fn text_of(&self, words: &[String]) -> String {
        let mut texts = words.to_vec();
        let session = self.folders.entered().first().map(PathBuf::as_path);
        for known in [session, self.home].into_iter().flatten() {
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
        let mut texts = self.noted.texts.clone();
        texts.extend_from_slice(&script.heredocs);
        if !script.outputs.is_empty() {
            texts.push(self.text_of(&script.outputs));
        }
        texts.join("\n")
    }
}

/// The place of `-C` among these words, and the folder behind it: 1 and `a` for `git -C a push`.
/// None if there is no `-C` or nothing behind it; if it stands behind `commit`, where it names a
/// commit whose message is taken; and for curl, rsync and scp, in which `-C` names no folder.
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

/// Whether git prints what files have, with these arguments: `diff a`, `-C src show HEAD:a`.
fn prints(arguments: &[String]) -> bool {
    let words = without_options(arguments, &VALUE_OPTIONS);
    words.first().is_some_and(|verb| PRINTING.contains(verb))
}

/// These folders, as texts. One that is no UTF-8 is left out.
fn texts_of(folders: &[PathBuf]) -> Vec<String> {
    folders
        .iter()
        .filter_map(|folder| folder.to_str().map(str::to_owned))
        .collect()
}
