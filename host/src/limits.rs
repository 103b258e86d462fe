//! What one call may use. Every limit is on by default; README.md lists them.

use crate::sandbox::engine::MAX_MEMORY;
use std::time::Duration;

/// The most that Claude Code lets through of one result, in UTF-16 code units; the
/// tool has to say so in its `_meta`, or it is 25,000 tokens. What is longer goes
/// into a file that the parent can read, so it is refused before.
pub const MAX_CLAUDE_CHARS: usize = 500_000;

/// What one call, and all calls together, may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time of one call, from the moment it starts to run. It covers
    /// the guest's own computing, which is stopped, and a read that hangs in the
    /// kernel, which is left behind. Code: `timed-out`.
    pub deadline: Duration,
    /// Calls that run at once. A call holds its place until its answer is
    /// written, so that a client that stops reading cannot pile up answers.
    pub running: usize,
    /// Calls that may wait for a place; one more is answered `busy`.
    pub waiting: usize,
    /// Threads that may be stuck in the kernel after their calls were answered
    /// `timed-out`; with more, calls are answered `busy`.
    pub left_behind: usize,
    /// Linear memory that the guest may have, in bytes. The guest holds a file
    /// once; the rest is its stack, data and allocator. Address space, of which
    /// a call takes what it touches.
    pub memory_bytes: usize,
    /// Handles the guest may hold at once: the directory, the file, some slack.
    pub handles: usize,
    /// Bytes that the guest may pass in one call to the host beyond the size of
    /// the file: a key and a name are far shorter.
    pub host_call_bytes: usize,
    /// Tables that the guest may have: its own, and those of the adapters that
    /// stand between a component and its imports.
    pub tables: usize,
    /// Elements in each table; the guest itself needs a few function pointers.
    pub table_elements: usize,
    /// Core instances that the component may be made of: its module and adapters.
    pub instances: usize,
    /// Unknown keys that are refused at once. Whoever mistypes a key is not
    /// slowed down.
    pub free_guesses: u32,
    /// How long the refusal of the next unknown key is held back. It doubles with
    /// each one more.
    pub first_guess_delay: Duration,
    /// The longest that a refusal is held back. Since the requests in flight are
    /// bounded, and refusals that wait are among them, it is also the longest that
    /// a flood of guesses can keep a valid request of the same client waiting.
    pub longest_guess_delay: Duration,
    /// After this long without an unknown key, refusals are immediate again. A
    /// valid key does not bring that about.
    pub guess_memory: Duration,
}

/// A file's limit where the map names none, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 20;

/// The highest limit that a map may set, in bytes. A subagent's whole context
/// window is smaller; beyond this, a file is not context but data.
pub const MAX_MAX_BYTES: u64 = 8 << 20;

/// The largest map that is read, in bytes: 100,000 entries of 160 bytes each.
pub const MAX_MAP_BYTES: u64 = 16 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            running: 8,
            waiting: 256,
            left_behind: 8,
            memory_bytes: MAX_MEMORY,
            handles: 16,
            host_call_bytes: 64 << 10,
            tables: 8,
            table_elements: 1024,
            instances: 16,
            free_guesses: 3,
            first_guess_delay: Duration::from_millis(50),
            longest_guess_delay: Duration::from_secs(1),
            guess_memory: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;
    use crate::sandbox::engine::SLOTS;

    #[test]
    fn every_call_that_may_be_in_the_sandbox_has_a_slot() {
        let limits = Limits::default();
        assert!(limits.running + limits.left_behind <= SLOTS as usize);
    }
}
