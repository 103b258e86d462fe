//! Sees that somebody opens a file.

use std::path::Path;

/// The openings of one file from now on.
#[cfg(target_os = "linux")]
pub(crate) struct Opens(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Opens {
    pub(crate) fn of(file: &Path) -> Self {
        use rustix::fs::inotify;
        let events = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&events, file, inotify::WatchFlags::OPEN).unwrap();
        Self(events)
    }

    /// Whether there was one since the last look.
    pub(crate) fn any(&self) -> bool {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
        let next = rustix::fs::inotify::Reader::new(&self.0, &mut buffer)
            .next()
            .map(drop);
        next != Err(rustix::io::Errno::AGAIN)
    }

    /// Waits for one.
    pub(crate) fn wait(&self) {
        let began = std::time::Instant::now();
        while !self.any() {
            assert!(began.elapsed() < keyhole_tests::PATIENCE, "never opened");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Elsewhere, nothing tells of them.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Opens;

#[cfg(not(target_os = "linux"))]
impl Opens {
    pub(crate) fn of(_: &Path) -> Self {
        Self
    }

    /// Waits for as long as an idle machine needs for one.
    pub(crate) fn wait(&self) {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
