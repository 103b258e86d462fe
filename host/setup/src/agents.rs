//! Agents' files of Claude Code that start a server of ours. They are judged here, since the lines
//! of such a server and its hook are those that setup writes.

use crate::{
    User,
    clients::{self, Client},
    own::{Started, entries, has_same_server_and_hook, key},
    recipe::Recipe,
};
use keyhole_core::BindingName;
use keyhole_walk::printable::printable;
use std::{
    collections::{BTreeMap, HashSet},
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The most folders and files that are looked at.
const MAX_LOOKED_AT: usize = 4096;
/// The longest file that is read, in bytes. The client reads it at each start.
const MAX_BYTES: u64 = 1 << 20;

/// An agent's file that starts `keyhole serve --bind NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAgent {
    /// The file, for people.
    pub file: String,
    /// The binding. Empty if it cannot be read.
    pub bind: String,
    /// What the file says of the server and its hook.
    pub lines: Lines,
}

/// What an agent's file has in its entries `mcpServers` and `hooks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// What setup writes for this binding.
    OfSetup {
        /// The program that they start.
        program: PathBuf,
        /// The folder for the agent's tickets.
        tickets: PathBuf,
    },
    /// What setup writes for the agent of this name, and the file has another one.
    Copied(String),
    /// Our server, in other lines than setup's, with something of our hook and of a ticket.
    Changed,
    /// Our server without our hook, or one that asks for no ticket: it may give its file to whoever
    /// is this agent, also to a session.
    Unguarded,
}

/// The agents that start a server of ours, by their files in the folder `agents` of `folder`: one
/// for each file and binding, with what `Lines::of` says of the file. Any other file is left out,
/// but for one that may start a server of ours in a form of YAML that is not read here: that has
/// [`Lines::Changed`], and an empty binding. `shown` is the folder for people: `~/.claude`.
pub fn own_agents(user: &User<'_>, folder: &Path, shown: &str) -> Vec<OwnAgent> {
    let Some(client) = clients::all().find(|client| client.name == "claude-code") else {
        return Vec::new();
    };
    let agents = folder.join("agents");
    let mut own = Vec::new();
    for (path, text) in markdown_files(&agents) {
        let name = printable(path.strip_prefix(&agents).unwrap_or(&path));
        let file = format!("{name} in {shown}/agents");
        let head = head_of(&text);
        let bindings = bindings_started_by(&head);
        if bindings.is_empty() && may_start_ours(&head) {
            own.push(OwnAgent {
                file,
                lines: Lines::Changed,
                bind: String::new(),
            });
            continue;
        }
        let lines = Lines::of(user, &client, &bindings, &text, &head);
        for bind in bindings {
            own.push(OwnAgent {
                file: file.clone(),
                lines: lines.clone(),
                bind: bind.to_string(),
            });
        }
    }
    own
}

/// Whether the head of an agent's file may start a server of ours in a form of YAML that is not
/// read here, such as a head on one line, or a server that another entry holds.
fn may_start_ours(head: &[String]) -> bool {
    let words = text_of_entries(head, |key| key != "description");
    words.contains("keyhole") && words.contains("--bind")
}

/// The bindings for which the head of an agent's file starts a server of ours: `notes` for
/// `keyhole serve --bind notes`. The same one twice in a row counts once, and a name that no
/// binding can have is left out. Empty if the entry `mcpServers` does not have both `keyhole` and
/// `serve`.
fn bindings_started_by(head: &[String]) -> Vec<BindingName> {
    let servers = text_of_entries(head, |key| key == "mcpServers");
    if !servers.contains("keyhole") || !servers.contains("serve") {
        return Vec::new();
    }
    let calls = servers.split("--bind").skip(1);
    let mut bindings: Vec<BindingName> = calls
        .filter_map(|call| first_word(call).parse().ok())
        .collect();
    bindings.dedup();
    bindings
}

impl Lines {
    /// How an agent's file starts the servers of these `bindings`. `text` is all of the file, and
    /// `head` the entries of its head.
    ///
    /// - `Unguarded` if the head has no hook `keyhole guard --bind`, or a server `--bind` without
    ///   `--require-ticket`.
    /// - `Changed` if there are several bindings, or if the lines of server and hook are not those
    ///   that setup writes.
    /// - `Copied` if they are, but the file's `name` is not the agent that the hook names.
    /// - `OfSetup` else, for whatever program and folder for tickets.
    fn of(
        user: &User<'_>,
        client: &Client,
        bindings: &[BindingName],
        text: &str,
        head: &[String],
    ) -> Self {
        if !is_guarded(head) {
            return Self::Unguarded;
        }
        // Setup writes a file for one binding only.
        let [bind] = bindings else {
            return Self::Changed;
        };
        let hooks = text_of_entries(head, |key| key == "hooks");
        let (_, call) = hooks.split_once("--agent").unwrap_or_default();
        let agent = first_word(call);
        let recipe = Recipe {
            user,
            client,
            name: bind,
            agent: Some(agent),
        };
        // The client's only text is an agent's file.
        let file = client.parts.first();
        // As setup would write it now, with the program and the folder for tickets that it has.
        let written_now = file.and_then(|file| recipe.as_setup_writes(file, text));
        if !written_now.is_some_and(|written| has_same_server_and_hook(text, &written)) {
            return Self::Changed;
        }
        if !head.iter().any(|entry| gives_name(entry, agent)) {
            return Self::Copied(agent.to_owned());
        }
        let Started { program, tickets } = Started::in_text(text);
        Self::OfSetup {
            program: program.into(),
            tickets: tickets.into(),
        }
    }
}

/// Whether the head of an agent's file has our hook, with the words `keyhole`, `guard` and `--bind`,
/// and each of its servers with `--bind` has `--require-ticket`, too.
fn is_guarded(head: &[String]) -> bool {
    let servers = text_of_entries(head, |key| key == "mcpServers");
    let hooks = text_of_entries(head, |key| key == "hooks");
    let mut words = ["keyhole", "guard", "--bind"].iter();
    let asking_for_ticket = servers.matches("--require-ticket").count();
    words.all(|word| hooks.contains(word)) && asking_for_ticket >= servers.matches("--bind").count()
}

/// The text of those entries of a head whose keys are `wanted`: for `hooks`, the line `hooks:` and
/// those below it. Empty if there are none.
fn text_of_entries(head: &[String], wanted: impl Fn(&str) -> bool) -> String {
    let entries = head.iter().filter(|entry| wanted(key(entry)));
    entries.cloned().collect::<Vec<_>>().join("\n")
}

/// The entries of the head of an agent's file. Empty if it has no head: then the client takes it
/// for no agent's.
fn head_of(text: &str) -> Vec<String> {
    if text.trim_start_matches('\u{feff}').starts_with("---") {
        entries(text)
    } else {
        Vec::new()
    }
}

/// The first word of the rest of a call, past what stands around it in each form of YAML: `notes`
/// of `", "notes", "--agent"`.
fn first_word(call: &str) -> &str {
    let word = call.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    end.map_or(word, |end| &word[..end])
}

/// The agents of this name in this folder: the names of their files, without the ending.
pub(crate) fn agents_named(folder: &Path, name: &str) -> Vec<OsString> {
    let mut stems = Vec::new();
    for (file, text) in markdown_files(&folder.join("agents")) {
        // A line of the text may begin with `name:` as well. Only the head counts.
        if head_of(&text).iter().any(|entry| gives_name(entry, name)) {
            stems.extend(file.file_stem().map(OsStr::to_owned));
        }
    }
    stems
}

/// Whether this entry gives an agent's file this name: `name: notes` or `name: "notes"`.
fn gives_name(entry: &str, name: &str) -> bool {
    let given = entry.strip_prefix("name:").map(str::trim);
    given.is_some_and(|given| given.trim_matches(['"', '\'']) == name)
}

/// The files beneath this folder, at any depth and also through links, that end in `.md` and have
/// at most 1 MiB, each with its text. The text of a file that cannot be read is empty. After 4,096
/// files and folders, the search ends.
fn markdown_files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut to_visit = vec![folder.to_owned()];
    let mut files = BTreeMap::new();
    let mut seen = HashSet::new();
    while let Some(path) = to_visit.pop() {
        if seen.len() >= MAX_LOOKED_AT {
            break;
        }
        // Links could lead in a circle, so each place is looked at once.
        let is_new = fs::canonicalize(&path).is_ok_and(|real| seen.insert(real));
        if !is_new {
            continue;
        }
        let Ok(kind) = fs::metadata(&path) else {
            continue;
        };
        let is_text = path.extension().is_some_and(|ending| ending == "md");
        if kind.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            to_visit.extend(inside.map(|entry| entry.path()));
        } else if is_text && kind.is_file() && kind.len() <= MAX_BYTES {
            let text = fs::read_to_string(&path).unwrap_or_default();
            files.insert(path, text);
        }
    }
    files
}

/// Whether no program is at this path. A relative path is never gone: nobody knows where it leads.
pub fn is_gone(program: &Path) -> bool {
    let is_program = fs::metadata(program)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    program.is_absolute() && !is_program
}
