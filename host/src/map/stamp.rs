//! When a file was last changed, and whether it is whole by now.

use crate::settle::ChangeTime;
use std::{fs::Metadata, os::unix::fs::MetadataExt, time::SystemTime};

pub(super) use crate::settle::QUIET;

/// Which file it is, and which state of it. The time of the last change (ctime)
/// is set by the kernel at each write, change of mode, rename; a program can
/// bring back the other values, but not this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: (i64, i64),
    changed: ChangeTime,
}

impl Stamp {
    /// The stamp of an open file.
    pub(super) fn of(file: &Metadata) -> Self {
        Self {
            dev: file.dev(),
            ino: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: ChangeTime {
                seconds: file.ctime(),
                nanoseconds: file.ctime_nsec(),
            },
        }
    }

    /// Whether `file` is the same file, whatever its state.
    pub(super) fn is_of(&self, file: &Metadata) -> bool {
        (self.dev, self.ino) == (file.dev(), file.ino())
    }

    /// Whether the file was left alone for [`QUIET`], as far as one look tells.
    pub(super) fn is_quiet(&self, now: SystemTime) -> bool {
        self.changed.age(now).is_some_and(|age| age >= QUIET)
    }

    /// Whether the next change is sure to give another stamp. It is not where the
    /// file system seems to count whole seconds and this one is not over yet.
    pub(super) fn is_telling(&self, now: SystemTime) -> bool {
        self.changed.is_telling(now)
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangeTime, Stamp};
    use std::time::{Duration, UNIX_EPOCH};

    fn changed(seconds: i64, nanoseconds: i64) -> Stamp {
        Stamp {
            dev: 1,
            ino: 1,
            size: 1,
            modified: (0, 0),
            changed: ChangeTime {
                seconds,
                nanoseconds,
            },
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
