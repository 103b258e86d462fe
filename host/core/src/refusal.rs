//! The closed set of refusals. A caller learns nothing else about a failure.

use keyhole_walk::{SystemError, WalkError};
use std::fmt;

/// Makes the codes. Each row has its meaning, its stable name, as the protocol sends it, and
/// its advice: what the user can do next. The advice tells no more about any key or file than
/// the code itself.
macro_rules! codes {
    ($($(#[$meaning:meta])* $code:ident $name:literal $advice:literal;)*) => {
        /// Why a call got no content.
        ///
        /// A code carries no data, so no key, path or content can get into an error. Clients match
        /// on the names: we never rename a code or change its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Refusal {
            $($(#[$meaning])* $code,)*
        }

        impl Refusal {
            /// Every code, in the order of docs/refusals.md.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$code),*];

            /// The stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// What the user can do next.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$code => $advice,)* }
            }
        }
    };
}

codes! {
    /// The operator wants only verified callers to be served, and nothing shows that a subagent
    /// makes this call, or that it is the one agent that the server serves. The server decides
    /// this first, so the code tells nothing about keys or the map.
    CallerNotVerified "caller-not-verified"
        "nothing shows that a subagent makes this call. Only subagents that the hook approved may call this. Do not repeat it: leave the task to the subagent that this tool is for. If that is you, ask the user whether hooks are switched off.";
    /// The map has no entry for this key or binding and this caller: there is none, or it is
    /// bound to other agents, or the key is not well formed. So somebody who holds a wrong key
    /// and somebody who stole a right one get the same answer.
    UnknownKey "unknown-key"
        "the context map has no such key for this caller. Do not try others: ask the user to check the key in the map, and the agents that it is bound to, if any; or the binding, if this tool takes no key.";
    /// There is no map.
    MapMissing "map-missing"
        "there is no context map yet. Ask the user to create it; `keyhole check` says where it belongs.";
    /// There is a map, but it cannot be used.
    MapInvalid "map-invalid"
        "the context map cannot be used, so every key is refused. Ask the user to run `keyhole check`, which shows the place.";
    /// The name in the map, or the name of the real file, does not end in `.md`.
    NotMarkdown "not-markdown"
        "only files whose names end in .md are served. Ask the user to map a Markdown file.";
    /// The mapped file is not there.
    NotFound "not-found"
        "the mapped file is not there. Ask the user to run `keyhole check` and to restore the file or fix the map.";
    /// The mapped name is a directory, FIFO, socket or device.
    NotAFile "not-a-file"
        "what is mapped is not a regular file. Ask the user to map a Markdown file.";
    /// The mapped file is outside the map's `roots`, or a symbolic link has replaced it.
    OutsideRoot "outside-root"
        "the mapped file lies outside the roots that the map allows, or is reached through a link that changed. Ask the user to run `keyhole check`.";
    /// Others could change the mapped file, or a directory or a link on its path.
    Untrusted "untrusted"
        "others could change the mapped file, or a folder or link on its path. Ask the user to run `keyhole check`, which names the place.";
    /// The operating system does not let us read the file.
    PermissionDenied "permission-denied"
        "the operating system does not let the server read the mapped file. Ask the user to check the file's permissions.";
    /// The file is larger than its limit, or longer than what Claude Code passes to its model.
    TooLarge "too-large"
        "the mapped file is larger than its limit, or than the client takes (Claude Code: 500,000 characters). Ask the user to shorten it, or to raise max_bytes in the map.";
    /// The file's bytes are not UTF-8.
    NotUtf8 "not-utf8"
        "the mapped file is not UTF-8 text. Ask the user to convert it.";
    /// The file was written to while it was read.
    Changed "changed"
        "the mapped file was being written to. Call again.";
    /// The call took longer than its deadline, or all threads hang in the kernel for calls that
    /// did. To call again would only take another thread.
    TimedOut "timed-out"
        "the file system of the mapped file, or of the map, does not answer in time. Do not repeat the call: ask the user to look at that file system, and then to restart this server (in Claude Code: /mcp, reconnect).";
    /// The server fixed at its start what it may read, and this file, or the map, is not in
    /// it: a root that was made, moved or mounted again since, or added to the map.
    RestartNeeded "restart-needed"
        "this server may read only what the map's roots were when it started, and the file, or the map, is elsewhere now. Ask the user to restart this server (in Claude Code: /mcp, reconnect); if that does not help, `keyhole check` says more.";
    /// Too many calls wait, or the call has waited too long.
    Busy "busy"
        "too many calls are waiting. Call again in a moment.";
    /// The operating system gave the server no file descriptor, thread or memory for the call.
    OutOfResources "out-of-resources"
        "the server has too few file descriptors, threads or memory. Call again; if it repeats, ask the user to raise its limits (ulimit -n, -u and -v).";
    /// Any other failure. This is our bug, not the user's error.
    Internal "internal"
        "the server failed. Call again; if it repeats, ask the user to report it.";
}

impl From<&WalkError> for Refusal {
    fn from(error: &WalkError) -> Self {
        match error {
            WalkError::System(error) => (*error).into(),
            WalkError::Untrusted(_) => Self::Untrusted,
        }
    }
}

impl From<SystemError> for Refusal {
    fn from(error: SystemError) -> Self {
        match error {
            SystemError::Missing => Self::NotFound,
            SystemError::Denied => Self::PermissionDenied,
            SystemError::IsLink => Self::OutsideRoot,
            SystemError::NotAFile => Self::NotAFile,
            SystemError::Busy => Self::Changed,
            SystemError::Late => Self::TimedOut,
            SystemError::Confined => Self::RestartNeeded,
            SystemError::OutOfResources => Self::OutOfResources,
            SystemError::Failed(_) => Self::Internal,
        }
    }
}

impl fmt::Display for Refusal {
    /// `code: what to do`, the form that callers see.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.as_str(), self.advice())
    }
}

impl std::error::Error for Refusal {}
