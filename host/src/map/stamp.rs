//! When a file was last changed, and whether it is whole by now.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long a file must have been left alone before it is read. Kernels note the
/// time of a change by ticks of at most 10 ms (`HZ=100`): after two of them, a
/// change that is still to come cannot get the time of the last one.
pub(super) const QUIET: Duration = Duration::from_millis(20);

/// The coarsest time stamps that file systems keep: FAT counts in 2 seconds.
const COARSEST: Duration = Duration::from_secs(2);

/// Which file it is, and which state of it. The time of the last change (ctime)
/// is set by the kernel at each write, change of mode, rename; a program can
/// bring back the other values, but not this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open file.
    pub(super) fn of(file: &Metadata) -> Self {
        Self {
            dev: file.dev(),
            ino: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }

    /// Whether `file` is the same file, whatever its state.
    pub(super) fn is_of(&self, file: &Metadata) -> bool {
        (self.dev, self.ino) == (file.dev(), file.ino())
    }

    /// How long ago the file was changed. None where that lies in the future: the
    /// clock was set back, or belongs to another machine.
    pub(super) fn age(&self, now: SystemTime) -> Option<Duration> {
        let (seconds, nanoseconds) = self.changed;
        // Before 1970 is long ago.
        let changed = Duration::new(
            u64::try_from(seconds).unwrap_or(0),
            u32::try_from(nanoseconds).unwrap_or(0),
        );
        now.duration_since(UNIX_EPOCH).ok()?.checked_sub(changed)
    }

    /// Whether the file was left alone for [`QUIET`], as far as one look tells.
    pub(super) fn is_quiet(&self, now: SystemTime) -> bool {
        self.age(now).is_some_and(|age| age >= QUIET)
    }

    /// Whether the next change is sure to give another stamp. It is not where the
    /// file system seems to count whole seconds and this one is not over yet.
    pub(super) fn is_telling(&self, now: SystemTime) -> bool {
        self.changed.1 != 0 || self.age(now).is_some_and(|age| age > COARSEST)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Stamp, UNIX_EPOCH};

    fn changed(seconds: i64, nanoseconds: i64) -> Stamp {
        Stamp {
            dev: 1,
            ino: 1,
            size: 1,
            modified: (0, 0),
            changed: (seconds, nanoseconds),
        }
    }

    #[test]
    fn a_file_is_quiet_when_its_last_change_is_20_ms_old() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(changed(99, 980_000_000).is_quiet(now));
        assert!(!changed(99, 980_000_001).is_quiet(now));
        assert!(changed(-5, 0).is_quiet(now));
    }

    #[test]
    fn one_look_never_calls_a_change_in_the_future_quiet() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(!changed(100, 1).is_quiet(now));
        assert!(!changed(4_000_000_000, 0).is_quiet(now));
    }

    #[test]
    fn a_stamp_of_whole_seconds_tells_nothing_until_they_are_over() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(changed(99, 1).is_telling(now));
        assert!(!changed(99, 0).is_telling(now));
        assert!(!changed(98, 0).is_telling(now));
        assert!(changed(97, 0).is_telling(now));
        assert!(!changed(101, 0).is_telling(now));
    }
}
