//! What a call would publish, by its words alone: nothing is looked up here.
//!
//! The words are a help, and no proof: what a script does, nobody sees in its name.

mod publishing;
mod words;

use crate::shell::{CLOSING, OPENING, Script};
use keyhole_claude::paths::normal;
use keyhole_outgoing::{Sent, Wanted};
use publishing::{COMMITTING, Kind, program, publishing, sent};
use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
};
pub(crate) use words::expand;
use words::{files_of_options, forces, has_one_of, is_variable, names_in, takes_all, variable};

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

/// What only reads or shows, whatever words follow.
const READING: [&str; 13] = [
    "cat", "echo", "grep", "head", "less", "ls", "man", "printf", "rg", "sed", "tail", "wc",
    "which",
];

/// What may stand before a program's name.
const BEFORE_PROGRAM: [&str; 9] = [
    "!", "builtin", "command", "do", "else", "if", "then", "time", "{",
];

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

/// How many values a word has at most, and folders or parts a call. With more, all is compared. A
/// program stands among so many words of its command.
const MAX_MEANINGS: usize = 32;

#[cfg(test)]
mod tests;
