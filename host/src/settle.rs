//! When a file was last changed, and whether it is at rest by now.
//!
//! The kernel notes the time of a change when it *begins*: of a file that was
//! changed just now, nobody knows whether it is whole.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a file must have been left alone before it is read. Kernels note the
/// time of a change by ticks of at most 10 ms (`HZ=100`): after two of them, a
/// change that is still to come cannot get the time of the last one.
#[allow(
    unreachable_pub,
    reason = "the walk offers it; the native guest includes this file"
)]
pub const QUIET: Duration = Duration::from_millis(20);

/// How long an empty file must have been left alone. A shell's `>` empties the file
/// before it starts the program that fills it.
pub(crate) const QUIET_EMPTY: Duration = Duration::from_millis(200);

/// How long no write of a file that is served can take: the largest has 8 MiB.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// The coarsest time stamps that file systems keep: FAT counts in 2 seconds.
const COARSEST: Duration = Duration::from_secs(2);

/// The time of a file's last change (ctime). The kernel sets it at each write,
/// change of mode and rename; a program can bring back the other times, but not
/// this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeTime {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

/// What one look at a file's [`ChangeTime`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// As [`Rest::Quiet`], and for so long that no write is under way either.
    Still,
    /// The file was left alone for long enough, and the next change is sure to give
    /// it another time.
    Quiet,
    /// It was changed just now. After this long it will have been left alone.
    In(Duration),
    /// The clock cannot tell: the time lies in the future, or the file system
    /// seems to count whole seconds and this one is not over yet.
    Unknown,
}

impl ChangeTime {
    /// How long ago the file was changed. None if that lies in the future: the
    /// clock was set back, or belongs to another machine.
    pub(crate) fn age(self, now: SystemTime) -> Option<Duration> {
        // Before 1970 is long ago.
        let changed = Duration::new(
            u64::try_from(self.seconds).unwrap_or(0),
            u32::try_from(self.nanoseconds).unwrap_or(0),
        );
        now.duration_since(UNIX_EPOCH).ok()?.checked_sub(changed)
    }

    /// Whether the next change must give another time. It need not if the file
    /// system seems to count whole seconds and this one is not over yet.
    pub(crate) fn is_telling(self, now: SystemTime) -> bool {
        let age = self.age(now);
        age.is_some_and(|age| self.nanoseconds != 0 || age > COARSEST)
    }

    /// Whether the file was left alone for as long as `quiet`.
    pub(crate) fn rest(self, quiet: Duration, now: SystemTime) -> Rest {
        match self.age(now) {
            Some(age) if age > LONGEST_WRITE => Rest::Still,
            Some(age) if self.is_telling(now) => match quiet.checked_sub(age) {
                None | Some(Duration::ZERO) => Rest::Quiet,
                Some(left) => Rest::In(left),
            },
            _ => Rest::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangeTime, Duration, QUIET, QUIET_EMPTY, Rest, SystemTime, UNIX_EPOCH};

    const MS: i64 = 1_000_000;

    /// 100 seconds after 1970.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(100)
    }

    fn rest(seconds: i64, nanoseconds: i64) -> Rest {
        ChangeTime {
            seconds,
            nanoseconds,
        }
        .rest(QUIET, now())
    }

    #[test]
    fn a_file_is_quiet_when_its_last_change_is_20_ms_old() {
        assert_eq!(rest(99, 980 * MS), Rest::Quiet);
        assert_eq!(rest(90, 0), Rest::Quiet);
    }

    #[test]
    fn a_file_is_still_when_no_write_can_be_under_way() {
        assert_eq!(rest(89, 999 * MS), Rest::Still);
        assert_eq!(rest(89, 0), Rest::Still);
        assert_eq!(rest(-5, 0), Rest::Still);
    }

    #[test]
    fn a_file_that_was_changed_just_now_is_quiet_after_the_rest_of_20_ms() {
        assert_eq!(rest(99, 985 * MS), Rest::In(Duration::from_millis(5)));
        assert_eq!(rest(99, 980 * MS + 1), Rest::In(Duration::from_nanos(1)));
    }

    #[test]
    fn what_is_left_of_a_longer_rest_is_longer() {
        let changed = ChangeTime {
            seconds: 99,
            nanoseconds: 900 * MS,
        };
        let left = changed.rest(QUIET_EMPTY, now());
        assert_eq!(left, Rest::In(Duration::from_millis(100)));
    }

    #[test]
    fn a_change_in_the_future_tells_nothing() {
        assert_eq!(rest(100, 1), Rest::Unknown);
        assert_eq!(rest(4_000_000_000, 0), Rest::Unknown);
    }

    #[test]
    fn a_time_of_whole_seconds_tells_nothing_until_they_are_over() {
        assert_eq!(rest(99, 0), Rest::Unknown);
        assert_eq!(rest(98, 0), Rest::Unknown);
        assert_eq!(rest(97, 0), Rest::Quiet);
        assert_eq!(rest(99, 1), Rest::Quiet);
    }
}
