//! Few file descriptors, few threads: a clear refusal at the start, no panic later.

use crate::os::{no_thread, spare_descriptors};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::channel,
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// Standard input and output are read and written on threads of tokio's if they
/// are not both pipes.
const STREAM_THREADS: usize = 2;

/// Descriptors that the runtime takes: two for its events, three for signals. It
/// panics if it is refused one for signals.
const DESCRIPTORS: usize = 5;

/// Descriptors that are still to be taken when the streams are opened: for signals,
/// and one in passing.
#[cfg(target_os = "linux")]
const DESCRIPTORS_BESIDE_STREAMS: usize = 4;

/// One thread for the protocol, which must be able to have what it needs. Calls
/// have their own threads. No thread is made yet.
///
/// # Errors
/// What the operating system refuses. tokio would panic later.
pub(crate) fn runtime() -> io::Result<Runtime> {
    spare_descriptors(DESCRIPTORS)?;
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(STREAM_THREADS)
        // As long as the process. What is refused later is then never the first.
        .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
        .build()
}

/// Has the runtime make the threads now that its streams will take.
///
/// # Errors
/// What the operating system refuses. tokio would panic later.
pub(crate) fn make_threads(runtime: &Runtime) -> io::Result<()> {
    spare_threads()?;
    keep_threads(runtime)
}

/// Whether the streams will do without threads: what [`crate::mcp::stdio`] asks.
#[cfg(target_os = "linux")]
pub(crate) fn streams_are_pipes() -> bool {
    use rustix::fs::{FileType, Mode, OFlags, fstat, open};
    let pipe = |path, access: OFlags| {
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let stream = open(path, flags, Mode::empty()).ok()?;
        let is_fifo = FileType::from_raw_mode(fstat(&stream).ok()?.st_mode).is_fifo();
        is_fifo.then_some(stream)
    };
    let read = pipe("/proc/self/fd/0", OFlags::RDONLY);
    let write = pipe("/proc/self/fd/1", OFlags::WRONLY);
    read.is_some() && write.is_some() && spare_descriptors(DESCRIPTORS_BESIDE_STREAMS).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn streams_are_pipes() -> bool {
    false
}

/// Whether as many threads as the streams take can be had, all at one time.
fn spare_threads() -> io::Result<()> {
    let mut threads = Vec::new();
    for _ in 0..STREAM_THREADS {
        let (release, wait) = channel::<()>();
        let thread = thread::Builder::new().spawn(move || wait.recv().is_ok())?;
        threads.push((release, thread));
    }
    for (release, thread) in threads {
        drop(release);
        // It cannot panic.
        drop(thread.join());
    }
    Ok(())
}

/// Has tokio make them. It panics if another process of the user was quicker.
fn keep_threads(runtime: &Runtime) -> io::Result<()> {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut held = Vec::new();
        for _ in 0..STREAM_THREADS {
            let (release, wait) = channel::<()>();
            let (arrive, arrived) = channel();
            runtime.spawn_blocking(move || {
                let _ = arrive.send(());
                let _ = wait.recv();
            });
            held.push((release, arrived));
        }
        // With one thread only, the second would never arrive.
        let patience = Duration::from_secs(1);
        held.iter()
            .all(|(_, arrived)| arrived.recv_timeout(patience).is_ok())
    }));
    match made {
        Ok(true) => Ok(()),
        _ => Err(no_thread()),
    }
}
