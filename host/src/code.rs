//! The closed set of refusals. A caller learns nothing else about a failure.

use std::fmt;

/// Why a call got no content.
///
/// A code carries no data, so no key, path or content can get into an error. The
/// names are stable: clients match on them, so we never rename a code or change its
/// meaning. docs/refusals.md lists them for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The operator wants only verified callers to be served, and nothing shows that
    /// a subagent makes this call, or that it is the one agent that the server
    /// serves. The server decides this before it looks at the key, so the code tells
    /// nothing about keys or the map.
    CallerNotVerified,
    /// The map has no entry for this key and this caller: there is none, or it is
    /// bound to other agents, or the key is not well formed. The code does not tell
    /// which. So somebody who holds a wrong key and somebody who stole a right one
    /// get the same answer.
    UnknownKey,
    /// There is no map.
    MapMissing,
    /// There is a map, but it cannot be used.
    MapInvalid,
    /// The name in the map, or the name of the real file, does not end in `.md`.
    NotMarkdown,
    /// The mapped file is not there.
    NotFound,
    /// The mapped name is a directory, FIFO, socket or device.
    NotAFile,
    /// The mapped file is outside the map's `roots`, or a symbolic link has replaced
    /// the file.
    OutsideRoot,
    /// The operating system does not let us read the file.
    PermissionDenied,
    /// The file is larger than its limit, or longer than what Claude Code passes to
    /// its model.
    TooLarge,
    /// The file's bytes are not UTF-8.
    NotUtf8,
    /// The file was written to while it was read.
    Changed,
    /// The call took longer than its deadline.
    TimedOut,
    /// Too many calls wait, the call has waited too long, or earlier calls for the
    /// same key or file hang. Too many wrong guessable keys can cause it too.
    Busy,
    /// The operating system gave the server no file descriptor, thread or memory
    /// for the call.
    OutOfResources,
    /// Any other failure. This is our bug, not the user's error.
    Internal,
}

impl Code {
    /// Every code, in the order of the table in docs/refusals.md.
    pub const ALL: [Self; 16] = [
        Self::CallerNotVerified,
        Self::UnknownKey,
        Self::MapMissing,
        Self::MapInvalid,
        Self::NotMarkdown,
        Self::NotFound,
        Self::NotAFile,
        Self::OutsideRoot,
        Self::PermissionDenied,
        Self::TooLarge,
        Self::NotUtf8,
        Self::Changed,
        Self::TimedOut,
        Self::Busy,
        Self::OutOfResources,
        Self::Internal,
    ];

    /// The stable name, as the protocol sends it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallerNotVerified => "caller-not-verified",
            Self::UnknownKey => "unknown-key",
            Self::MapMissing => "map-missing",
            Self::MapInvalid => "map-invalid",
            Self::NotMarkdown => "not-markdown",
            Self::NotFound => "not-found",
            Self::NotAFile => "not-a-file",
            Self::OutsideRoot => "outside-root",
            Self::PermissionDenied => "permission-denied",
            Self::TooLarge => "too-large",
            Self::NotUtf8 => "not-utf8",
            Self::Changed => "changed",
            Self::TimedOut => "timed-out",
            Self::Busy => "busy",
            Self::OutOfResources => "out-of-resources",
            Self::Internal => "internal",
        }
    }

    /// What the user can do next. It tells no more about any key or file than the
    /// code itself.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::CallerNotVerified => {
                "nothing shows that a subagent makes this call, and no one else is served. Do not repeat it: leave the task to the subagent whose instructions hold the key. If that is you, ask the user to check that the plugin's hooks are enabled."
            }
            Self::UnknownKey => {
                "the context map has no such key for this caller. Do not try others: ask the user to check the key in the map, and the agents that it is bound to, if any."
            }
            Self::MapMissing => {
                "there is no context map yet. Ask the user to create it; `keyhole check` says where it belongs."
            }
            Self::MapInvalid => {
                "the context map cannot be used, so every key is refused. Ask the user to run `keyhole check`, which shows the place."
            }
            Self::NotMarkdown => {
                "only files whose names end in .md are served. Ask the user to map a Markdown file."
            }
            Self::NotFound => {
                "the mapped file is not there. Ask the user to run `keyhole check` and to restore the file or fix the map."
            }
            Self::NotAFile => {
                "what is mapped is not a regular file. Ask the user to map a Markdown file."
            }
            Self::OutsideRoot => {
                "the mapped file lies outside the roots that the map allows, or is reached through a link that changed. Ask the user to run `keyhole check`."
            }
            Self::PermissionDenied => {
                "the operating system does not let the server read the mapped file. Ask the user to check the file's permissions."
            }
            Self::TooLarge => {
                "the mapped file is larger than its limit, or than the client takes (Claude Code: 500,000 characters). Ask the user to shorten it, or to raise max_bytes in the map."
            }
            Self::NotUtf8 => "the mapped file is not UTF-8 text. Ask the user to convert it.",
            Self::Changed => "the mapped file was being written to. Call again.",
            Self::TimedOut => {
                "the mapped file could not be read in time. Call again; if it repeats, ask the user to check the file system."
            }
            Self::Busy => "too many calls are waiting. Call again in a moment.",
            Self::OutOfResources => {
                "the server has too few file descriptors, threads or memory. Call again; if it repeats, ask the user to raise its limits (ulimit -n, -u and -v)."
            }
            Self::Internal => {
                "the server failed. Call again; if it repeats, ask the user to report it."
            }
        }
    }
}

impl fmt::Display for Code {
    /// `code: what to do`, the form that callers see.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.as_str(), self.advice())
    }
}

impl std::error::Error for Code {}

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn names_are_kebab_case() {
        for code in Code::ALL {
            assert!(
                code.as_str()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'8'),
                "{code:?}"
            );
        }
    }
}
