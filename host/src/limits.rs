//! What one call may use. Every limit is on by default; docs/refusals.md lists them.

use crate::engine::MAX_MEMORY;
use std::time::Duration;

/// The longest result that Claude Code passes to its model, in UTF-16 code units. The
/// tool must state it in its `_meta`; otherwise the limit is 25,000 tokens. Claude
/// Code writes a longer result to a file that the parent can read, so the server
/// refuses to send one.
pub const MAX_CLAUDE_CHARS: usize = 500_000;

/// What one call, and all calls together, may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time of one call, from the moment it starts to run. It covers
    /// the guest's own computing, which the host stops, and a read that hangs in the
    /// kernel, which the host abandons. Code: `timed-out`.
    pub deadline: Duration,
    /// Calls that run at once. Each holds a permit until its answer is written, so
    /// a client that stops reading cannot pile up answers. If [`Self::abandoned`]
    /// allows, a call returns its permit earlier, after [`Self::slow_after`].
    pub running: usize,
    /// Calls that may wait. The answer to one more is `busy`.
    pub waiting: usize,
    /// Slow calls that may continue without a permit, so that they delay no other call.
    /// They wait for a file system, or they hang in the kernel and the client has
    /// already got `timed-out`. `running` plus this number is also the most threads
    /// that calls ever have.
    pub abandoned: usize,
    /// After this time, a call counts as waiting, not computing, and returns its
    /// permit. A file of the highest limit takes some 20 ms.
    pub slow_after: Duration,
    /// Calls for one key, and calls for one file, that run at once or hang. With 4 of
    /// 16 threads, three files can hang and leave four threads for all others. A
    /// fourth file that hangs takes the rest. With 3, one file was served a fifth
    /// fewer times a second. More than 4 do not make it faster, because the
    /// protocol's one thread is then busy.
    pub for_one_file: usize,
    /// Calls for one key that may wait, so that a file that hangs does not fill
    /// the queue. The answer to one more is `busy`.
    pub waiting_for_one_file: usize,
    /// If the oldest call for a key or file has run for this time, no other call
    /// waits for it: the answer is `busy`. A call waits up to a second for a map that
    /// is just being written to, and another second for such a file.
    pub hung_after: Duration,
    /// Linear memory that the guest may have, in bytes. The guest holds a part of a file,
    /// or all of it if no clock shows its changes; the rest is its stack, data and
    /// allocator. This is address space: a call takes only the memory that it touches.
    pub memory_bytes: usize,
    /// Handles that the guest may hold at once: the directory, the file, and some
    /// slack.
    pub handles: usize,
    /// Bytes that the guest may pass to the host in one call, in addition to the size
    /// of the file. A key and a name are far shorter.
    pub host_call_bytes: usize,
    /// Tables that the guest may have: its own, and those of the adapters that
    /// stand between a component and its imports.
    pub tables: usize,
    /// Elements in each table. The guest itself needs a few function pointers.
    pub table_elements: usize,
    /// Core instances that the component may consist of: its module and adapters.
    pub instances: usize,
    /// Wrong guessable keys (see [`crate::Key::is_guessable`]) that the server looks
    /// up without a delay. So a user who mistypes a key is not slowed down.
    pub free_guesses: u32,
    /// After those, the server looks up one more each time this interval has passed.
    /// Until then a guessable key waits, as long as a call may wait; then the answer
    /// is `busy`. A right guessable key waits too.
    pub guess_every: Duration,
    /// Guessable keys that may wait for their lookup. The answer to one more is
    /// `busy`.
    pub waiting_guesses: usize,
}

/// A file's limit if the map names none, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 20;

/// The highest limit that a map may set, in bytes. A subagent's whole context
/// window is smaller. A larger file is not context but data.
pub const MAX_MAX_BYTES: u64 = 8 << 20;

/// The largest map that the host reads, in bytes: 100,000 entries of 160 bytes each.
pub const MAX_MAP_BYTES: u64 = 16 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            running: 8,
            waiting: 256,
            abandoned: 8,
            slow_after: Duration::from_millis(100),
            for_one_file: 4,
            waiting_for_one_file: 64,
            hung_after: Duration::from_secs(2),
            memory_bytes: MAX_MEMORY,
            handles: 16,
            host_call_bytes: 64 << 10,
            tables: 8,
            table_elements: 1024,
            instances: 16,
            free_guesses: 16,
            guess_every: Duration::from_secs(1),
            waiting_guesses: 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;
    use crate::engine::SLOTS;

    #[test]
    fn every_call_that_may_be_in_the_sandbox_has_a_slot() {
        let limits = Limits::default();
        assert!(limits.running + limits.abandoned <= SLOTS as usize);
    }

    /// Otherwise right keys would have to wait although nobody tried a wrong one.
    #[test]
    fn every_call_that_has_a_thread_may_look_up_its_key() {
        let limits = Limits::default();
        assert!(limits.free_guesses as usize >= limits.running + limits.abandoned);
    }

    /// docs/refusals.md promises it.
    #[test]
    fn three_files_can_hang_and_leave_others_threads_and_most_of_the_queue() {
        let limits = Limits::default();
        assert!(limits.running + limits.abandoned >= 3 * limits.for_one_file + 4);
        let waiting = limits.waiting_for_one_file;
        assert!(limits.waiting >= 3 * waiting + 64);
        // The third file's calls may all need permits of running calls.
        assert!(limits.running > limits.for_one_file);
    }
}
