//! Whether a file is at rest: whole by now, and sure to show the next change.

use super::{Stat, Time};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a file must have been left alone before it is read. Kernels note the
/// time of a change by ticks of at most 10 ms (`HZ=100`): after two of them, a
/// change that is still to come cannot get the time of the last one.
pub const QUIET: Duration = Duration::from_millis(20);

/// How often a file that is not at rest is looked at again, [`QUIET`] apart: for one
/// second in all. An editor needs a few milliseconds.
pub const LOOKS: usize = 50;

/// The coarsest time stamps that file systems keep: FAT counts in 2 seconds.
const COARSEST: Duration = Duration::from_secs(2);

impl Stat {
    /// Whether the file was left alone for [`QUIET`], as far as one look tells.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        age(self.changed, now).is_some_and(|age| age >= QUIET)
    }

    /// Whether the next change must produce a different change time. It need not if
    /// the file system seems to count whole seconds and this one is not over yet.
    #[must_use]
    pub fn is_reliable(&self, now: SystemTime) -> bool {
        let age = age(self.changed, now);
        age.is_some_and(|age| self.changed.1 != 0 || age > COARSEST)
    }
}

/// How long ago that was. None means that it lies in the future: the clock was set
/// back, or belongs to another machine.
fn age((seconds, nanoseconds): Time, now: SystemTime) -> Option<Duration> {
    // Before 1970 is long ago.
    let changed = Duration::new(
        u64::try_from(seconds).unwrap_or(0),
        u32::try_from(nanoseconds).unwrap_or(0),
    );
    now.duration_since(UNIX_EPOCH).ok()?.checked_sub(changed)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Kind, Stat},
        Duration, UNIX_EPOCH,
    };

    fn changed(seconds: i64, nanoseconds: i64) -> Stat {
        Stat {
            kind: Kind::File,
            mode: 0o600,
            owner: 0,
            group: 0,
            names: 1,
            device: 1,
            inode: 1,
            size: 1,
            modified: (0, 0),
            changed: (seconds, nanoseconds),
        }
    }

    #[test]
    fn a_file_is_settled_when_its_last_change_is_20_ms_old() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(changed(99, 980_000_000).is_settled(now));
        assert!(!changed(99, 980_000_001).is_settled(now));
        assert!(changed(-5, 0).is_settled(now));
    }

    #[test]
    fn one_look_never_calls_a_change_in_the_future_settled_or_reliable() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for stat in [changed(100, 1), changed(4_000_000_000, 0)] {
            assert!(!stat.is_settled(now));
            assert!(!stat.is_reliable(now));
        }
    }

    #[test]
    fn a_stamp_of_whole_seconds_tells_nothing_until_they_are_over() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(changed(99, 1).is_reliable(now));
        assert!(!changed(99, 0).is_reliable(now));
        assert!(!changed(98, 0).is_reliable(now));
        assert!(changed(97, 0).is_reliable(now));
        assert!(!changed(101, 0).is_reliable(now));
    }
}
