//! What one call may use. Every limit is on by default; docs/refusals.md lists them.

use std::time::Duration;

/// The longest result that Claude Code passes to its model, in UTF-16 code units. The tool must
/// state it in its `_meta`; otherwise the limit is 25,000 tokens. Claude Code writes a longer
/// result to a file that the parent can read, so the server refuses to send one.
pub const MAX_CLAUDE_CHARS: usize = 500_000;

/// What one call, and all calls together, may use; `keyhole_engine` has how much memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time of one call, from the moment it starts to run. After it, the walk takes no
    /// further step, and the host stops the guest, and abandons a read that hangs in the kernel.
    pub deadline: Duration,
    /// Calls that run at once, and their threads. Each holds a permit until its answer is written
    /// and its thread has ended, which may be never if it hangs in the kernel. So many, because a
    /// file system that hangs takes one for each call; 4 served an eighth fewer calls a second.
    pub running: usize,
    /// Calls that may wait. The answer to one more is `busy`.
    pub waiting: usize,
    /// Handles that the guest may hold at once: the directory, the file, and some slack.
    pub handles: usize,
    /// Bytes that the guest may pass to the host in one call, besides the file's size.
    pub host_call_bytes: usize,
}

/// A file's limit if the map names none, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 20;

/// The highest limit that a map may set, in bytes. A subagent's whole context window is smaller.
pub const MAX_MAX_BYTES: u64 = 8 << 20;

/// The largest map that the host reads, in bytes: some ten thousand entries. It is read and
/// compared at each call.
pub const MAX_MAP_BYTES: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            running: 16,
            waiting: 256,
            handles: 16,
            host_call_bytes: 64 << 10,
        }
    }
}
