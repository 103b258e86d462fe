use std::{fmt, fs};

/// What a process uses of the system while it is idle.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    rss_kib: u64,
    descriptors: u64,
    threads: u64,
}

/// How much the figures may grow from the warm-up to the end. Memory: an allocator may
/// keep a large answer, 1 MB, for each thread that has made one, and this varies. In a
/// million calls, of which each server gets a quarter, a leak of 80 bytes per call
/// would be more than this. Threads: those that run calls come and go,
/// up to a limit.
pub(crate) const SLACK: Figures = Figures {
    rss_kib: 16 << 10,
    descriptors: 0,
    threads: 8,
};

impl Figures {
    /// None if the system does not tell.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count();
        Some(Self {
            rss_kib: field("VmRSS:")?,
            descriptors: descriptors as u64,
            threads: field("Threads:")?,
        })
    }

    /// Whether one of them grew by more than [`SLACK`].
    pub(crate) fn is_more_than(&self, before: &Self) -> bool {
        self.rss_kib > before.rss_kib + SLACK.rss_kib
            || self.descriptors > before.descriptors + SLACK.descriptors
            || self.threads > before.threads + SLACK.threads
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rss_kib,
            descriptors,
            threads,
        } = self;
        write!(
            f,
            "{rss_kib} KiB, {descriptors} descriptors, {threads} threads"
        )
    }
}
