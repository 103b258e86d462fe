//! Whether a file that was held is at rest. See [`crate::settle`].

use super::Stat;
use crate::settle::ChangeTime;
use std::time::SystemTime;

pub use crate::settle::QUIET;

/// How often a file that is not at rest is looked at again, [`QUIET`] apart: for one
/// second in all. An editor needs a few milliseconds.
pub const LOOKS: usize = 50;

impl Stat {
    /// Whether the file was left alone for [`QUIET`], as far as one look tells.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let age = ChangeTime::from(self.changed).age(now);
        age.is_some_and(|age| age >= QUIET)
    }

    /// Whether the next change must produce a different change time. It need not if
    /// the file system seems to count whole seconds and this one is not over yet.
    #[must_use]
    pub fn is_reliable(&self, now: SystemTime) -> bool {
        ChangeTime::from(self.changed).is_telling(now)
    }
}

impl From<super::Time> for ChangeTime {
    fn from((seconds, nanoseconds): super::Time) -> Self {
        Self {
            seconds,
            nanoseconds,
        }
    }
}
