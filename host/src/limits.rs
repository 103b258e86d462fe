//! What one call may use. Every limit is on by default; docs/refusals.md lists them.

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
    /// written, so that a client that stops reading cannot pile up answers; or
    /// until it has taken [`Self::slow_after`], if [`Self::left_behind`] allows.
    pub running: usize,
    /// Calls that may wait; one more is answered `busy`.
    pub waiting: usize,
    /// Calls that may take long without a place, so that they hold nobody up. They
    /// wait for a file system, or have been answered `timed-out` and are stuck in
    /// the kernel. With `running`, it is also the most threads that calls ever
    /// have.
    pub left_behind: usize,
    /// After this long, a call counts as waiting, not computing, and gives up its
    /// place. A file of the highest limit takes some 20 ms.
    pub slow_after: Duration,
    /// Calls for one key, and calls for one file, that run at once or are stuck.
    /// With 4 of 16, three files can hang and leave four threads to all others. A
    /// fourth takes the rest. With 3, one file took a fifth less calls a second; more
    /// than 4 do not make it faster, since the protocol's one thread is busy then.
    pub for_one_file: usize,
    /// Calls for one key that may wait, so that a file that hangs does not fill
    /// the queue; one more is answered `busy`.
    pub waiting_for_one_file: usize,
    /// Nobody waits behind calls for the same key or file of which the oldest has
    /// run for so long: they are answered `busy`. A map or file that is just being
    /// written to is waited for a second each.
    pub hung_after: Duration,
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
    /// Wrong keys that are looked up at once, of those that could be guessed (see
    /// [`crate::Key::is_guessable`]). Whoever mistypes one is not slowed down.
    pub free_guesses: u32,
    /// After those, one more may be looked up after each such time. Until then it
    /// waits, as long as a call may wait, and then is `busy`; so does a right key
    /// of that kind.
    pub guess_every: Duration,
    /// Keys of that kind that may wait to be looked up; one more is `busy`.
    pub waiting_guesses: usize,
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
    use crate::sandbox::engine::SLOTS;

    #[test]
    fn every_call_that_may_be_in_the_sandbox_has_a_slot() {
        let limits = Limits::default();
        assert!(limits.running + limits.left_behind <= SLOTS as usize);
    }

    /// Else right keys would have to wait although none was wrong.
    #[test]
    fn every_call_that_has_a_thread_may_look_up_its_key() {
        let limits = Limits::default();
        assert!(limits.free_guesses as usize >= limits.running + limits.left_behind);
    }

    /// docs/refusals.md promises it.
    #[test]
    fn three_files_can_hang_and_leave_others_threads_and_most_of_the_queue() {
        let limits = Limits::default();
        assert!(limits.running + limits.left_behind >= 3 * limits.for_one_file + 4);
        let waiting = limits.waiting_for_one_file;
        assert!(limits.waiting >= 3 * waiting + 64);
        // The third file's calls may find no other place than a running one's.
        assert!(limits.running > limits.for_one_file);
    }
}
