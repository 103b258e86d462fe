//! Whether an open file is at rest. See [`crate::settle`].

use super::system::{Stat, Time};
use crate::settle::ChangeTime;
use std::time::SystemTime;

pub use crate::settle::QUIET;

/// How often the walk looks again at a file that is not at rest, each time after
/// [`QUIET`]: one second in total. An editor needs a few milliseconds.
pub const LOOKS: usize = 50;

impl Stat {
    /// Whether nobody has changed the file for [`QUIET`], as far as one look tells.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let age = ChangeTime::from(self.changed).age(now);
        age.is_some_and(|age| age >= QUIET)
    }

    /// Whether the next change must produce a different change time. It need not if
    /// the file system seems to count whole seconds and this one is not over yet.
    #[must_use]
    pub fn is_reliable(&self, now: SystemTime) -> bool {
        ChangeTime::from(self.changed).is_reliable(now)
    }
}

impl From<Time> for ChangeTime {
    fn from((seconds, nanoseconds): super::Time) -> Self {
        Self {
            seconds,
            nanoseconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::walk::{Kind, Stat};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_file_is_settled_after_20_ms_and_reliable_if_its_clock_is_fine_or_its_second_over() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for (changed, settled, reliable) in [
            ((99, 980_000_000), true, true),
            ((99, 980_000_001), false, true),
            ((99, 0), true, false),
            ((97, 0), true, true),
            ((101, 1), false, false),
        ] {
            let stat = Stat {
                kind: Kind::File,
                mode: 0o600,
                owner: 0,
                group: 0,
                names: 1,
                device: 1,
                inode: 1,
                size: 1,
                modified: (0, 0),
                changed,
            };
            assert_eq!(stat.is_settled(now), settled, "{changed:?}");
            assert_eq!(stat.is_reliable(now), reliable, "{changed:?}");
        }
    }
}
