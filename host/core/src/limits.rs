//! What one call may use. Every limit is on by default; docs/refusals.md lists them.

use keyhole_engine::MAX_MEMORY;
use std::time::Duration;

/// The longest result that Claude Code passes to its model, in UTF-16 code units. The tool must
/// state it in its `_meta`; otherwise the limit is 25,000 tokens. Claude Code writes a longer
/// result to a file that the parent can read, so the server refuses to send one.
pub const MAX_CLAUDE_CHARS: usize = 500_000;

/// What one call, and all calls together, may use.
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
    /// Linear memory that the guest may have, in bytes: for a file, most of it twice if it comes
    /// in pieces, stack, data and allocator. A call takes only the memory that it touches.
    pub memory_bytes: usize,
    /// Handles that the guest may hold at once: the directory, the file, and some slack.
    pub handles: usize,
    /// Bytes that the guest may pass to the host in one call, besides the file's size.
    pub host_call_bytes: usize,
    /// Tables that the guest may have: its own, and those of the adapters to its imports.
    pub tables: usize,
    /// Elements in each table. The guest itself needs a few function pointers.
    pub table_elements: usize,
    /// Core instances that the component may consist of: its module and adapters.
    pub instances: usize,
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
            memory_bytes: MAX_MEMORY,
            handles: 16,
            host_call_bytes: 64 << 10,
            tables: 8,
            table_elements: 1024,
            instances: 16,
        }
    }
}
