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
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The most folders and files that are looked at.
const MAX_LOOKED_AT: usize = 4096;
/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// An agent's file of Claude Code that starts `keyhole serve --bind NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAgent {
    /// The file, for people: `notes.md in ~/.claude/agents`.
    pub file: String,
    /// Whether another file beneath the same folder gives the agent of the binding's name.
    pub has_double: bool,
    /// The name of the binding. Empty if the file has a form of YAML that is not read here.
    pub bind: String,
    /// How the file starts the server and its hook.
    pub lines: Lines,
}

/// What an agent's file has in its entries `mcpServers` and `hooks`, by which it starts our server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// The lines that setup writes for this binding and this agent.
    OfSetup {
        /// The program that the lines start.
        program: PathBuf,
        /// The folder for the agent's tickets.
        tickets: PathBuf,
    },
    /// The lines that setup writes for the agent of this name, but the file is that of an agent of
    /// another name: somebody has copied the file.
    Copied(String),
    /// Other lines than setup's, by which our server is started with a hook and a ticket.
    Changed,
    /// The lines that setup writes, in a head that the client does not load (`is_loaded`), or that
    /// disallows the server's tool.
    WrongHead,
    /// Our server without our hook, or without `--require-ticket`. The server may give its file to
    /// whoever runs as this agent, also to a whole session.
    Unguarded,
}

/// The agents of Claude Code that start a server of ours, by the files `*.md` in the folder
/// `agents` of `folder`, which people know as `shown`: `~/.claude`. A file gives one answer for
/// each binding that it starts, with what `Lines::of` says of the file.
///
/// - A file that starts no server of ours is left out.
/// - A file that may start one, but in a form of YAML that is not read here (`may_start_ours`), has
///   [`Lines::Changed`] and an empty binding.
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
                has_double: false,
                bind: String::new(),
            });
            continue;
        }
        let lines = Lines::of(user, &client, &bindings, &text, &head);
        for bind in bindings {
            own.push(OwnAgent {
                file: file.clone(),
                lines: lines.clone(),
                has_double: agents_named(folder, &bind)
                    .iter()
                    .any(|other| *other != path),
                bind: bind.to_string(),
            });
        }
    }
    own
}

/// Whether the head of an agent's file has both `keyhole` and `--bind` in some entry, other than
/// its description. Then it may start a server of ours in a form of YAML that is not read here,
/// such as a head on one line, or a server in another entry than `mcpServers`.
fn may_start_ours(head: &[String]) -> bool {
    let words = text_of_entries(head, |key| key != "description");
    words.contains("keyhole") && words.contains("--bind")
}

/// The bindings for which the head of an agent's file starts a server of ours: the word behind each
/// `--bind` of its entry `mcpServers`, as `notes` in `keyhole serve --bind notes`. Of the same name
/// twice in a row, one is left. A name that no binding can have is left out.
///
/// Empty if the entry does not have both `keyhole` and `serve`, or is not there.
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
    /// How an agent's file starts the servers of these `bindings`. `text` is all of the file,
    /// `head` the entries of its head, and `client` is Claude Code. The first that holds counts:
    ///
    /// - `Unguarded`, if a server has no hook or asks for no ticket (`is_guarded`).
    /// - `Changed`, if there is not just one binding, or if the lines of server and hook are not
    ///   those that setup writes for this binding and the agent that the hook names.
    /// - `Copied`, if the file's entry `name` is not that agent.
    /// - `WrongHead`, if the client does not load the file, or the agent may not call its tool
    ///   (`disallowedTools`).
    /// - `OfSetup`, for whatever program and folder for tickets.
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
        // The only part of Claude Code is the agent's file.
        let part = client.parts.first();
        // None if the client does not take such a name for a binding or an agent.
        let written_now = part.and_then(|part| recipe.as_setup_writes(part, text));
        if !written_now.is_some_and(|written| has_same_server_and_hook(text, &written)) {
            return Self::Changed;
        }
        if !head.iter().any(|entry| gives_name(entry, agent)) {
            return Self::Copied(agent.to_owned());
        }
        let disallowed = text_of_entries(head, |key| key == "disallowedTools");
        let tool = format!("mcp__{}__load_context", &**bind);
        if disallowed.contains(&tool) || !is_loaded(text, head) {
            return Self::WrongHead;
        }
        let Started { program, tickets } = Started::in_text(text);
        Self::OfSetup {
            program: program.into(),
            tickets: tickets.into(),
        }
    }
}

/// Whether the client loads an agent's file with this text and head: the text begins with `---`,
/// and the head has one name, and one description that is a text ([`is_text_of_yaml`]). A blank
/// line above `---`, or a description `a: b`, keeps the client from it.
fn is_loaded(text: &str, head: &[String]) -> bool {
    let is_at_start = text.trim_start_matches('\u{feff}').starts_with("---");
    let names = text_of_entries(head, |key| key == "name");
    let descriptions = text_of_entries(head, |key| key == "description");
    let description = descriptions.strip_prefix("description:").map(str::trim);
    let is_named_once = names.matches("name:").count() == 1;
    is_at_start && is_named_once && description.is_some_and(is_text_of_yaml)
}

/// Whether YAML takes this value of an entry as a text: `a b`, `"a: b"`, or a block below `|` or
/// `>`. Not an empty one, nor `a: b`, nor `"a" b`, nor one that begins as another kind of value
/// does, such as `[a] b`. A comment behind the value does not count.
fn is_text_of_yaml(entry: &str) -> bool {
    let value = entry.trim();
    match value.chars().next() {
        None | Some('#' | '~') => false,
        Some('|' | '>') => true,
        Some(quote @ ('"' | '\'')) => {
            let (text, behind) = value.rsplit_once(quote).unwrap_or_default();
            let comment = behind.trim();
            !text.is_empty() && (comment.is_empty() || comment.starts_with('#'))
        }
        Some(first) => {
            let is_other_kind = "[]{}*&!%@`,".contains(first);
            !is_other_kind && !value.contains(": ") && !value.ends_with(':')
        }
    }
}

/// Whether the head of an agent's file has our hook, with the words `keyhole`, `guard` and
/// `--bind`, and each of its servers with `--bind` has `--require-ticket`, too.
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

/// The entries of the head of an agent's file, which stands between two lines `---`. Empty if the
/// text does not begin with `---`, behind blank lines at most: then nobody takes the file for an
/// agent's.
fn head_of(text: &str) -> Vec<String> {
    let written = text.trim_start_matches('\u{feff}');
    if written.trim_start().starts_with("---") {
        entries(text)
    } else {
        Vec::new()
    }
}

/// The first word of this part of a call, without the quotes, commas and brackets that a form of
/// YAML has around it: `notes` of `", "notes", "--agent"`. A word has letters, digits and `-`.
fn first_word(call: &str) -> &str {
    let word = call.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    end.map_or(word, |end| &word[..end])
}

/// The files beneath the folder `agents` of `folder` whose head gives the agent this name: for
/// `notes`, also `team/mine.md` with a line `name: notes`.
pub(crate) fn agents_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (file, text) in markdown_files(&folder.join("agents")) {
        // A line of the text may begin with `name:` as well. Only the head counts.
        if head_of(&text).iter().any(|entry| gives_name(entry, name)) {
            files.push(file);
        }
    }
    files
}

/// Whether this entry gives an agent's file this name: `name: notes` or `name: "notes"`.
fn gives_name(entry: &str, name: &str) -> bool {
    let given = entry.strip_prefix("name:").map(str::trim);
    given.is_some_and(|given| given.trim_matches(['"', '\'']) == name)
}

/// The files beneath this folder that end in `.md`, at any depth and also through links, each with
/// its text. A file of more than 1 MiB is left out. The text of a file that cannot be read, or is
/// not UTF-8, is empty. After 4,096 files and folders, the search ends.
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

/// Whether no program is at this path: there is nothing, or no file that may be executed. False for
/// a relative path, of which nobody knows where it leads.
pub fn is_gone(program: &Path) -> bool {
    let is_program = fs::metadata(program)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    program.is_absolute() && !is_program
}
