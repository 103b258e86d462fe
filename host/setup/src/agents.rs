//! Agents' files of Claude Code that start a server of ours.

use keyhole_walk::printable::printable;
use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The most folders and files that are looked at.
const MAX_FOUND: usize = 4096;
/// The longest file that is read, in bytes. The client reads it at each start.
const MAX_BYTES: u64 = 1 << 20;

/// An agent's file that starts `keyhole serve --bind NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAgent {
    /// The file, for people.
    pub file: String,
    /// The binding.
    pub bind: String,
    /// Whether the server takes only calls with a ticket, and a hook of the agent leaves one.
    /// Otherwise a session that is started as this agent gets the file.
    pub is_guarded: bool,
    /// The folder for its tickets.
    pub tickets: Option<PathBuf>,
    /// Whether the server is started for a map that it names.
    pub names_a_map: bool,
    /// A program of ours that the file names, where nothing is.
    pub gone: Option<PathBuf>,
}

/// Those among the agents of this folder, which people know as `shown`, and in the folders in it,
/// as the client finds them.
pub fn own_agents(folder: &Path, shown: &str) -> Vec<OwnAgent> {
    let folder = folder.join("agents");
    let agents = files(&folder).into_iter().flat_map(|(file, text)| {
        let name = printable(file.strip_prefix(&folder).unwrap_or(&file));
        servers(&format!("{name} in {shown}/agents"), &text)
    });
    agents.collect()
}

/// The agents of this name in this folder: the names of their files, without the ending.
pub(crate) fn agents_named(folder: &Path, name: &str) -> Vec<OsString> {
    let is_named = |text: &str| {
        let mut names = text.lines().filter_map(|line| line.strip_prefix("name:"));
        names.any(|found| found.trim().trim_matches(['"', '\'']) == name)
    };
    let files = files(&folder.join("agents")).into_iter();
    let files = files.filter(|(_, text)| is_named(text));
    let stems = files.filter_map(|(file, _)| Some(file.file_stem()?.to_owned()));
    stems.collect()
}

/// The agents' files in this folder and in the folders in it, with their texts.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = vec![folder.to_owned()];
    let (mut files, mut seen) = (BTreeMap::new(), HashSet::new());
    while let Some(path) = found.pop().filter(|_| seen.len() < MAX_FOUND) {
        // Links could lead in a circle.
        let is_new = fs::canonicalize(&path).is_ok_and(|real| seen.insert(real));
        let Some(kind) = fs::metadata(&path).ok().filter(|_| is_new) else {
            continue;
        };
        let is_text = path.extension().is_some_and(|ending| ending == "md");
        if kind.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            found.extend(inside.map(|found| found.path()));
        } else if is_text && kind.is_file() && kind.len() <= MAX_BYTES {
            let text = fs::read_to_string(&path).unwrap_or_default();
            files.insert(path, text);
        }
    }
    files
}

/// The servers that the head of an agent's file starts. It is YAML, in any of its forms, of which
/// only the words count.
fn servers(file: &str, text: &str) -> Vec<OwnAgent> {
    let text = text.trim_start_matches('\u{feff}').replace('\r', "\n");
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return Vec::new();
    }
    let lines = lines.take_while(|line| *line != "---");
    let lines = lines.filter(|line| !line.starts_with("description:") && !line.starts_with('#'));
    let head = lines.map(without_comment).collect::<Vec<_>>().join("\n");
    if !head.contains("keyhole") {
        return Vec::new();
    }
    let words = head.split(|c: char| !c.is_alphanumeric() && !"_-./".contains(c));
    let words: Vec<&str> = words.filter(|word| !["", "-"].contains(word)).collect();
    let all = format!(" {} ", words.join(" "));
    let has = |words: &str| all.contains(&format!(" {words} "));
    // The words of each call of our program. Behind an option stands its value.
    let goes_on =
        |before: &&str, word: &&str| before.starts_with("--") || !["serve", "guard"].contains(word);
    let calls: Vec<_> = words.chunk_by(goes_on).collect();
    let value = |call: &[&str], option: &str| {
        let mut pairs = call.windows(2);
        let pair = pairs.rfind(|pair| pair[0] == option);
        pair.map(|pair| pair[1].to_owned()).unwrap_or_default()
    };
    let names = |call: &[&str]| ["--bind", "--agent", "--tickets"].map(|name| value(call, name));
    // A hook for other calls, or one that the client does not wait for, guards nothing; and so does
    // one that leaves its tickets elsewhere, or for another agent.
    let is_guarded = |server: &[&str]| {
        let tool = format!("matcher mcp__{}__load_context", value(server, "--bind"));
        let is_for = has(&tool) || !has("matcher");
        let is_sure = has("PreToolUse") && !has("if") && !has("async");
        let guards = calls.iter().filter(|call| call[0] == "guard");
        let mut guards = guards.filter(|call| !call.contains(&"--after"));
        let needs_ticket = server.contains(&"--require-ticket");
        is_for && is_sure && needs_ticket && guards.any(|it| names(it) == names(server))
    };
    let servers = calls.iter().filter(|call| call[0] == "serve");
    let agents = servers.map(|server| OwnAgent {
        file: file.to_owned(),
        bind: value(server, "--bind"),
        is_guarded: is_guarded(server),
        tickets: Some(value(server, "--tickets").into()).filter(|at: &PathBuf| at.is_absolute()),
        names_a_map: server.contains(&"--map"),
        gone: gone(&head),
    });
    agents.filter(|agent| !agent.bind.is_empty()).collect()
}

/// A line of YAML without its comment, which begins behind a blank and outside of quotes.
fn without_comment(line: &str) -> &str {
    let is_outside = |(at, _): &(usize, &str)| line[..*at].matches('"').count().is_multiple_of(2);
    let mut comments = line.match_indices(" #").filter(is_outside);
    comments.next().map_or(line, |(at, _)| &line[..at])
}

/// The first program with our name that is named there by its path, where nothing is.
fn gone(head: &str) -> Option<PathBuf> {
    let texts = head.split(['"', '\'', ',', '{', '}', '[', ']', '\n']);
    let texts = texts.filter_map(|text| text.split("command:").last());
    // A backslash may be one of YAML, and a map is no program.
    let texts = texts.filter(|text| !text.contains('\\') && !text.contains(".toml"));
    let mut paths = texts.map(|text| Path::new(text.trim()));
    let is_ours = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b"keyhole")
    };
    let gone = paths.find(|path| is_ours(path) && is_gone(path));
    gone.map(Path::to_owned)
}

/// Whether nothing is where a program is said to be.
fn is_gone(program: &Path) -> bool {
    program.is_absolute() && !program.exists()
}
