//! What one look may take: time, and bytes that are read.

use crate::Uncollected;
use std::time::{Duration, Instant};

/// How long one look may take. Git takes a fifth of a second for 50,000 files or 2,000 commits.
/// A client waits a minute for a hook.
const TIME: Duration = Duration::from_secs(10);

/// The bytes that one look reads at most: forty times the index of 10,000 files, and what a person
/// could not have looked at.
const BYTES: usize = 64 << 20;

/// How many files one look tells at most, and as many branches and tags.
pub(crate) const MAX_FILES: usize = 50_000;

/// How many commits one look tells at most.
pub(crate) const MAX_COMMITS: usize = 2_000;

/// What is left of one look's time and bytes.
#[derive(Debug)]
pub(crate) struct Budget {
    deadline: Instant,
    bytes: usize,
}

impl Budget {
    /// The budget of a look that begins now.
    pub(crate) fn new() -> Self {
        Self {
            deadline: Instant::now() + TIME,
            bytes: BYTES,
        }
    }

    /// The time that is left, which is more than zero.
    ///
    /// # Errors
    /// [`Uncollected::TooSlow`] if there is none.
    pub(crate) fn time_left(&self) -> Result<Duration, Uncollected> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Uncollected::TooSlow);
        }
        Ok(left)
    }

    /// Counts bytes that were read.
    ///
    /// # Errors
    /// [`Uncollected::TooMuch`] if these are more than are left.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), Uncollected> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Uncollected::TooMuch)?;
        Ok(())
    }
}

/// Checks that `count` is at most `most`.
///
/// # Errors
/// [`Uncollected::TooMuch`] if it is more.
pub(crate) fn at_most(count: usize, most: usize) -> Result<(), Uncollected> {
    if count > most {
        return Err(Uncollected::TooMuch);
    }
    Ok(())
}
