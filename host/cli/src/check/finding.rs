//! What `keyhole check` finds beside the result of each entry: one table, from which the report,
//! its JSON and docs/check.md are made.

use keyhole_claude::settings::{Fault, Way};
use keyhole_core::{Key, limits::MAX_CLAUDE_CHARS};
use keyhole_setup::recipe::MAX_BINDING_NAME;
use std::fmt;

/// How much a finding counts. What counts more comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Somebody gets no file, or somebody else may get it. `check` then fails.
    Error,
    /// Something to know. The exit code stays as it is.
    Warning,
}

impl Severity {
    /// The word that stands in front of a finding, and in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Makes the findings. Each row has its stable id, how much it counts, what it means in one line,
/// and the sentence for the user, with what to do. A program matches on the ids: we never rename
/// one, or change its meaning.
macro_rules! findings {
    ($($finding:ident { $($field:ident: $type:ty),* } $id:literal $severity:ident
        $meaning:literal ($($sentence:tt)*);)*) => {
        /// What is wrong, or may be. `agent` is an agent's file as the user is to see it, and
        /// `why` says what keeps somebody from a file. A field may hold a key.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Finding {
            $(#[doc = $meaning] $finding { $($field: $type),* },)*
            /// A fault of Claude Code's settings. It is an error for a map whose agents it stops.
            InSettings { fault: Fault, severity: Severity },
        }

        impl Finding {
            /// Each finding's id, how much it counts, and what it means; in the order in which the
            /// report names those of entries.
            pub(crate) const TABLE: [(&'static str, Severity, &'static str); [$($id),*].len()] =
                [$(($id, Severity::$severity, $meaning)),*];

            /// The stable id.
            pub(crate) const fn id(&self) -> &'static str {
                match self {
                    $(Self::$finding { .. } => $id,)*
                    Self::InSettings { fault, .. } => fault.id(),
                }
            }

            /// Its place in the table, or the place behind all of it.
            pub(crate) fn rank(&self) -> usize {
                let mut rows = Self::TABLE.iter();
                rows.position(|row| row.0 == self.id()).unwrap_or(Self::TABLE.len())
            }

            /// How much it counts.
            pub(crate) const fn severity(&self) -> Severity {
                match self {
                    $(Self::$finding { .. } => Severity::$severity,)*
                    Self::InSettings { severity, .. } => *severity,
                }
            }
        }

        /// The sentence for the user, without the line of the map.
        impl fmt::Display for Finding {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$finding { $($field),* } => write!(out, $($sentence)*),)*
                    Self::InSettings { fault, .. } => write!(out, "{fault}"),
                }
            }
        }
    };
}

impl Finding {
    /// Whether the plugin's agent gets no file by this.
    pub(crate) fn stops_plugin(&self) -> bool {
        match self {
            Self::PluginsTicketsRefused { .. } => true,
            Self::InSettings { fault, severity } => {
                *severity == Severity::Error && fault.ways().contains(&Way::Plugin)
            }
            _ => false,
        }
    }
}

const _: () = assert!(Key::STRONG_LEN == 16 && Key::STRONG_CHARS == 6);

findings! {
    // Of one entry. The report names its line.
    GuessableKey {} "guessable-key" Error
        "The key can be guessed, and its entry has no agents, so whoever guesses it gets the file."
        ("a key of fewer than 16 characters, or fewer than 6 different ones, can be guessed, and its entry has no agents; replace it by one that `keyhole setup key FILE` prints");
    EmptyFile {} "empty-file" Warning
        "The file is empty, so a scan would find nothing."
        ("the file is empty, so a scan would find nothing. Write your list into it");
    StandIn {} "stand-in" Warning
        "The file is encrypted, or only points to a list that is elsewhere, so a scan would find nothing."
        ("the file only stands for your list, as a pointer (Git LFS, git-annex) or encrypted (age, PGP, sops, Ansible Vault), so a scan would find nothing. Fetch or decrypt the list itself, and map that");
    NulCharacters {} "nul-characters" Warning
        "The file holds NUL characters, so it is perhaps UTF-16, and a scan may miss what is in it."
        ("the file holds NUL characters, so at least a part of it is not UTF-8 text, but perhaps UTF-16, and a scan may miss it. Save it as UTF-8");
    FewValues {} "few-values" Warning
        "`withhold` finds next to no value in the file, so it takes next to nothing out of a report."
        ("withhold finds next to no value in the file, so it takes next to nothing out of a report: headings, labels and ordinary words stay. Write each value as an item of a list");
    HeadingWithoutValue {} "heading-without-value" Warning
        "`withhold` finds no value below a heading of the file, so it takes nothing of it out of a report."
        ("withhold finds no value below a heading of the file, so it takes nothing of it out of a report. Write each value as an item of a list; what only explains belongs below a heading Notes");
    WeakKey {} "weak-key" Warning
        "The key may be guessed. Its entry has agents, so no other agent gets the file by it."
        ("a key of fewer than 16 characters, or fewer than 6 different ones, may be guessed");
    KeyNotAsked {} "key-not-asked" Warning
        "The entry names the plugin's agent, which asks for another key, so it never loads this file."
        ("the plugin's agent asks for the key keyhole-privacy-catalog only, so it never loads this file");
    LongForClaudeCode {} "long-for-claude-code" Warning
        "The file has more characters than Claude Code takes: there, it is refused as `too-large`."
        ("in Claude Code, a file of more than {MAX_CLAUDE_CHARS} characters is refused as too-large");
    // The entry's detail says how to close it, so this one is the last of an entry.
    ReadByOthers {} "read-by-others" Warning
        "The file's mode lets a group or others read it."
        ("by its mode, a group or others may read the file");

    // Of the map.
    MapByVariable {} "map-by-variable" Warning
        "A variable says where the map is. A client that starts without it looks elsewhere."
        ("XDG_CONFIG_HOME is set here; a client that starts without it looks for ~/.config/keyhole/context-map.toml. Add --map and the map's path to the server's arguments");
    NoRoots {} "no-roots" Warning
        "The map has no `roots`, so the kernel does not keep a server from the user's other files."
        ("the map has no roots, so a server may read whatever you may. Name the folders of your files at the top of the map, as in roots = [\"~/private\"]");
    WideMap {} "wide-map" Warning
        "The map's folder holds the home, so a server may read all that is there."
        ("the map lies directly in your home, or above it, so a server may read all that is there; keep the map in a folder of its own");
    LongBindingName { line: u32 } "long-binding-name" Warning
        "A binding's name is so long that some clients cannot call its tool."
        ("the binding on line {line} has a name with which some clients cannot call its tool; one of at most {MAX_BINDING_NAME} characters works everywhere");
    UnseenInRoot {} "unseen-in-root" Warning
        "A path in `roots` has a character that nobody sees, and cannot be used."
        ("a path in roots has a character that nobody sees, as text from a web page may have it: write it again");
    RootNotTrusted { cure: String } "root-not-trusted" Warning
        "Others could replace a root, or what leads to it, so no file in it is served."
        ("no file in this root is served: {cure}");

    // Of Claude Code.
    ProgramGone { agent: String, program: String } "program-gone" Error
        "An agent's file starts a program that is not there, so the agent gets no file."
        ("{agent} starts {program}, where no program is, so its agent gets no file. Write the program's path there");
    Unguarded { agent: String } "unguarded" Error
        "An agent's file starts Keyhole's server without its hook, or without asking for a ticket: a session that is started as this agent may get the file."
        ("{agent} starts Keyhole's server without its hook, or without --require-ticket: then a session that a project starts as this agent gets the file, or, if one of the two is there, nobody gets it. Put mcpServers and hooks there as `keyhole setup claude-code --bind NAME` prints them");
    CopiedAgent { agent: String, of: String } "copied-agent" Error
        "An agent's file starts a server and a hook that are another agent's, so its agent gets no file."
        ("{agent} starts the server of the agent {of}, and has another name itself, so its agent gets no file. If it is that agent, give it this name back. For a second agent, move the file away, and run `keyhole setup claude-code --bind NAME --file FILE` with a name of its own");
    WrongHead { agent: String } "wrong-head" Error
        "The head of an agent's file is not one that Claude Code loads, or disallows the agent's own tool, so the agent gets no file."
        ("Claude Code does not load {agent}, or its agent may not call its own tool. The first line must be ---. There must be one name, and one description, in double quotes. disallowedTools must not name the tool load_context");
    SecondFile { agent: String } "second-file" Error
        "Another file gives an agent of the same name, so Claude Code may load that one, and its agent gets no file."
        ("another file in the same folder gives the agent of {agent}, too, so Claude Code may load that one, and its agent gets no file. Take that file away, or give it another name in its line name");
    OtherLines { agent: String } "other-lines" Warning
        "An agent's file starts Keyhole by other lines than `setup` writes, so it is unknown who gets the file."
        ("{agent} starts Keyhole by other lines than setup writes, so nobody can tell here whether only this agent gets the file. Compare its mcpServers and hooks with those that `keyhole setup claude-code --bind NAME` prints");
    TicketsRefused { agent: String, why: String, folder: String } "tickets-refused" Error
        "The folder for an agent's tickets cannot be used, so its server refuses each call."
        ("{agent} starts a server that refuses each call: {why} ({folder})");
    NoSuchBinding { agent: String } "no-such-binding" Error
        "An agent's file starts a server for a binding that the map does not have."
        ("{agent} starts a server for a binding that the map does not have, so its agent gets no file. Run `keyhole setup` for it again");
    PluginsTicketsRefused { why: String } "plugins-tickets-refused" Error
        "The folder for the plugin's tickets cannot be used, so its server refuses each call."
        ("the plugin starts a server that refuses each call: {why}");
    RulesMissing { file: String, rules: String } "rules-missing" Warning
        "Rules are missing that keep the client's tools from the private files."
        ("rules are missing that keep the main conversation from your private files. Add to permissions.deny in {file}: {rules}");
    ShellsOpen { why: String } "shells-open" Warning
        "A shell command of the main conversation can read the private files."
        ("{why}");
    LinkToFile { link: String } "project-link-to-file" Error
        "A link in a project's `.claude` leads to a private file, so the client may hand it to the main conversation."
        ("{link} leads to a private file of yours: Claude Code reads it there as the project's own text, outside its sandbox and past its rules, and the main conversation gets it. Delete this link");
    ProjectLink { link: String } "project-link" Warning
        "A link in a project's `.claude` leads out of the project, where the client reads outside its sandbox and past its rules."
        ("{link} may lead out of this project: Claude Code reads what is there outside its sandbox and past its rules. Delete this link if it is not yours");
    ShellsSlower { lists: String } "shells-slower" Warning
        "A pattern in the sandbox's lists makes each shell command slower, the more files it names."
        ("a pattern with ** makes each shell command in Claude Code's sandbox slower, the more files it names, and in the end none starts. Name folders instead in {lists}. If an entry there ends in /tool-results/**, delete it: an older keyhole wrote it");
    GateOff {} "gate-off" Error
        "The map says where values may be published, but the plugin or its hooks are off, so nothing asks before they are."
        ("the map has publish_only_in, but Keyhole's plugin or its hooks are off in Claude Code, so nothing asks before a value is published. Switch them on, or take the field out");
    ProgressTold { file: String } "progress-told" Warning
        "The client has an agent's model say every half minute what the agent does. The main conversation may read that line, and nobody compares it with the agent's file."
        ("Claude Code has an agent say every half minute what it does, and the main conversation may read that line: nobody compares it with the agent's file. In env in {file}, set \"CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES\" to \"1\"");
    PluginNotOn {} "plugin-not-on" Warning
        "No settings of the user or an administrator switch the plugin on."
        ("no settings switch the plugin on. To install it, type `claude plugin marketplace add FOLDER`, with the folder of the plugin's release, and then `claude plugin install keyhole@keyhole`");
}

#[cfg(test)]
mod tests;
