//! What one call may use. Every limit is on by default; docs/refusals.md lists them.
//!
//! A new limit stands here, with the source of its number. It needs an attack that reaches it, in
//! tests/hostile, and a row in docs/refusals.md.

use std::time::Duration;

/// The longest result that Claude Code passes to its model, in UTF-16 code units. The tool must
/// state this number in its `_meta`; otherwise the limit is 25,000 tokens. Claude Code writes a
/// longer result to a file that the main conversation can read, so the server refuses to send one.
pub const MAX_CLAUDE_CHARS: usize = 500_000;

/// Whether a text is longer than [`MAX_CLAUDE_CHARS`]. It never has more UTF-16 units than bytes.
pub fn is_too_long_for_claude(text: &str) -> bool {
    text.len() > MAX_CLAUDE_CHARS && text.encode_utf16().count() > MAX_CLAUDE_CHARS
}

/// What one call, and all calls together, may use. How much memory a guest may have is a constant
/// of `keyhole_engine`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time of one call, from the moment it starts to run. After it, the walk takes no
    /// further step, and the host stops the guest, and abandons a read that hangs in the kernel.
    pub deadline: Duration,
    /// How many calls run at once, each on a thread. A call counts until its answer is written and
    /// its thread has ended, which may be never if the thread hangs in the kernel. The number is
    /// that high because each call to a file system that hangs takes one thread away. With 4, a
    /// server answers an eighth fewer calls a second.
    pub running: usize,
    /// How many more calls may wait. The answer to the next one is `busy`.
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

/// The largest map that the host reads, in bytes: some ten thousand entries. Each call reads the
/// whole file, and compares it with what is known.
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
