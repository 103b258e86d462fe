//! The closed set of refusals. A caller learns nothing else about a failure.

use keyhole_walk::{SystemError, WalkError};

/// Makes the codes. Each row has its stable name, whether to call again, what is wrong, and what
/// the user can do; before that, what these texts do not say. They tell no more about any key or
/// file than the code itself. docs/refusals.md is made from them.
macro_rules! codes {
    ($($(#[$meaning:meta])* $code:ident $name:literal $then:ident $wrong:literal $remedy:literal;)*) => {
        /// Why a call got no content.
        ///
        /// A code carries no data, so no key, path or content can get into an error. Clients match
        /// on the names: we never rename a code or change its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
        #[error("{}: {}", self.as_str(), self.advice())]
        pub enum Refusal {
            $(#[doc = $wrong] $(#[$meaning])* $code,)*
        }

        impl Refusal {
            /// Every code, in the order of docs/refusals.md.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$code),*];

            /// The stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// A second call may get the file.
            pub const fn is_passing(self) -> bool {
                match self { $(Self::$code => $then,)* }
            }

            /// What is wrong, and what the user can do.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$code => concat!($wrong, " ", $remedy),)* }
            }

            /// The name, and the remedy.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$code => concat!($name, ": ", $wrong, " ", $remedy),)* }
            }

            /// The remedy, said to an agent.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$code => if $then {
                        concat!($wrong, " Call again, at most twice. If that does not help, tell the user: ", $remedy)
                    } else {
                        concat!($wrong, " Do not call again. Tell the user: ", $remedy)
                    },)*
                }
            }
        }
    };
}

const AGAIN: bool = true;
const STOP: bool = false;

codes! {
    /// The operator wants only verified callers to be served, and nothing shows that a subagent
    /// makes this call, or that it is the one agent that the server serves. The server decides
    /// this first, so the code tells nothing about keys or the map.
    CallerNotVerified "caller-not-verified" STOP
        "Nothing shows that the right subagent makes this call: leave the task to it."
        "If it made the call, look whether hooks are switched off.";
    /// The map has no entry for this key or binding and this caller: there is none, or it is
    /// bound to other agents, or the key is not well formed. So somebody who holds a wrong key
    /// and somebody who stole a right one get the same answer.
    UnknownKey "unknown-key" STOP
        "The map has no such key, or no binding of this name, for this caller."
        "Check the key or the name, and the `agents` of its entry; the plugin's agent is keyhole:privacy-scanner.";
    MapMissing "map-missing" STOP
        "There is no map."
        "To create one, run `keyhole setup` in a terminal, or for Claude Code's plugin `keyhole setup plugin`, which /keyhole:check prints with its path.";
    MapInvalid "map-invalid" STOP
        "The map cannot be used, so every call is refused."
        "Run `keyhole check`, or with Claude Code's plugin /keyhole:check, which shows the line.";
    NotMarkdown "not-markdown" STOP
        "The file's name, in the map or behind a link, does not end in .md."
        "Rename it, and correct the map.";
    NotFound "not-found" STOP
        "The mapped file is not there."
        "Restore it, or correct the map.";
    NotAFile "not-a-file" STOP
        "What is mapped is a directory, FIFO, socket or device."
        "Map a Markdown file.";
    OutsideRoot "outside-root" STOP
        "The file lies outside `roots`, or a link took its place during the call."
        "Move the file, or add its folder to `roots`.";
    Untrusted "untrusted" STOP
        "Somebody other than you and root could change the file, or a folder or link on its path."
        "Take that right away: in a terminal, `keyhole check` names the place. With Claude Code's plugin, /keyhole:check prints that command with its path.";
    PermissionDenied "permission-denied" STOP
        "The operating system does not let Keyhole read the file."
        "Check its permissions, and those of the folders above it.";
    TooLarge "too-large" STOP
        "The file is over its limit, or over the 500,000 characters that Claude Code takes."
        "Shorten it. Raise `max_bytes` only where Keyhole's own default of 1 MiB is the limit.";
    NotUtf8 "not-utf8" STOP
        "The file is not UTF-8 text."
        "Save it as UTF-8.";
    Changed "changed" AGAIN
        "Somebody was writing to the file or the map."
        "Try again when nobody does.";
    /// The call took longer than its deadline, or all threads hang in the kernel for calls that
    /// did. To call again would only take another thread.
    TimedOut "timed-out" STOP
        "The file system of the file or of the map did not answer in time."
        "Look at that file system, then restart the server (in Claude Code: /mcp, reconnect).";
    /// The server fixed at its start what it may read, and this file, or the map, is not in
    /// it: a root that was made, moved or mounted again since, or added to the map.
    RestartNeeded "restart-needed" STOP
        "The server may read only what the map's roots were when it started."
        "Restart it (in Claude Code: /mcp, reconnect). If that does not help, something else restricts it: SELinux, AppArmor, a network folder's server.";
    Busy "busy" AGAIN
        "Too many calls are waiting."
        "Try again in a moment.";
    OutOfResources "out-of-resources" AGAIN
        "The server has too few file descriptors, threads or memory."
        "Change its limits (ulimit -d, -n, -u, -v; MemoryDenyWriteExecute), then try again.";
    /// This is our bug, not the user's error.
    Internal "internal" AGAIN
        "Keyhole failed."
        "Try again, and report it if it repeats.";
}

impl From<WalkError> for Refusal {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::System(error) => error.into(),
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
            // The kernel confines the server to the folders that were there when it started.
            SystemError::Confined => Self::RestartNeeded,
            SystemError::OutOfResources => Self::OutOfResources,
            SystemError::Failed(_) => Self::Internal,
        }
    }
}
