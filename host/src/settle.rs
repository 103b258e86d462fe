//! When a file was last changed, and whether it is at rest by now.
//!
//! The kernel records the time of a change when the change *begins*. So if a file
//! was changed just now, nobody knows whether it is complete.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a file must have been unchanged before it is read. Kernels record the
/// time of a change in ticks of at most 10 ms (`HZ=100`). After two ticks, a future
/// change cannot get the same time as the last one.
#[allow(
    unreachable_pub,
    reason = "the walk offers it; the native guest includes this file"
)]
pub const QUIET: Duration = Duration::from_millis(20);

/// How long an empty file must have been unchanged. A shell's `>` empties the file
/// before it starts the program that fills it.
pub(crate) const QUIET_EMPTY: Duration = Duration::from_millis(200);

/// More time than any write of a served file takes: the largest has 8 MiB.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// The coarsest time stamps that file systems keep: FAT counts in steps of 2
/// seconds.
const COARSEST: Duration = Duration::from_secs(2);

/// The time of a file's last change (ctime). The kernel sets it at each write,
/// change of mode and rename. A program can set the other times back, but not this
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeTime {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

/// What a file's [`ChangeTime`] says at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Like [`Rest::Quiet`], and unchanged for so long that no write is in progress
    /// either.
    Still,
    /// The file was unchanged for long enough, and the next change must give it
    /// another time.
    Quiet,
    /// The file was changed just now. After this time it will be quiet if nobody
    /// changes it.
    In(Duration),
    /// The clock cannot tell: the time is in the future, or the file system seems
    /// to count whole seconds and the current one may not be over.
    Unknown,
}

impl ChangeTime {
    /// How long ago the file was changed. None means that the time is in the
    /// future: the clock was set back, or belongs to another machine.
    pub(crate) fn age(self, now: SystemTime) -> Option<Duration> {
        // A time before 1970 counts as long ago.
        let changed = Duration::new(
            u64::try_from(self.seconds).unwrap_or(0),
            u32::try_from(self.nanoseconds).unwrap_or(0),
        );
        now.duration_since(UNIX_EPOCH).ok()?.checked_sub(changed)
    }

    /// Whether the next change must give another time. It need not if the file
    /// system seems to count whole seconds and the current one may not be over.
    pub(crate) fn is_reliable(self, now: SystemTime) -> bool {
        let age = self.age(now);
        age.is_some_and(|age| self.nanoseconds != 0 || age > COARSEST)
    }

    /// Whether the file was unchanged for as long as `quiet`.
    pub(crate) fn rest(self, quiet: Duration, now: SystemTime) -> Rest {
        match self.age(now) {
            Some(age) if age > LONGEST_WRITE => Rest::Still,
            Some(age) if self.is_reliable(now) => match quiet.checked_sub(age) {
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
