//! How the server handles few file descriptors or threads: a clear error at the
//! start, no panic later.

use crate::os::{no_thread, spare_descriptors};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::channel,
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// The threads on which tokio reads standard input and writes standard output, if
/// they are not both pipes.
const STREAM_THREADS: usize = 2;

/// The file descriptors that the runtime takes: two for its events, three for
/// signals. It panics if the system refuses it one for signals.
const DESCRIPTORS: usize = 5;

/// The file descriptors that are still needed when the streams are opened: three for
/// signals, and a temporary one.
#[cfg(target_os = "linux")]
const DESCRIPTORS_BESIDE_STREAMS: usize = 4;

/// Makes the runtime, which has one thread for the protocol; calls have their own
/// threads. It creates no thread yet, but it first checks that the resources for all of
/// this are free.
///
/// # Errors
/// What the operating system refuses. tokio would panic later.
pub(crate) fn runtime() -> io::Result<Runtime> {
    spare_descriptors(DESCRIPTORS)?;
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(STREAM_THREADS)
        // Threads live as long as the process. So a thread that the system refuses
        // later is never the first one.
        .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
        .build()
}

/// Makes the runtime create now the threads that its streams will need.
///
/// # Errors
/// What the operating system refuses. tokio would panic later.
pub(crate) fn make_threads(runtime: &Runtime) -> io::Result<()> {
    spare_threads()?;
    keep_threads(runtime)
}

/// Whether the streams will need no threads. [`crate::mcp::stdio`] makes the same
/// check.
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

/// If the client reads from a pipe, asks for a larger one: then a document of 1 MiB needs
/// a few turns of writer and reader instead of sixteen. It does not ask for more, because
/// all pipes of a user together may hold only so much (64 MiB by default). Beyond that,
/// new pipes of any program are tiny.
#[cfg(target_os = "linux")]
pub(crate) fn widen_output() {
    const BYTES: usize = 256 << 10;
    let stdout = std::io::stdout();
    let has_less = rustix::pipe::fcntl_getpipe_size(&stdout).is_ok_and(|bytes| bytes < BYTES);
    if has_less {
        // If this fails, the pipe stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, BYTES);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn widen_output() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn streams_are_pipes() -> bool {
    false
}

/// Fails if the system refuses as many threads at once as the streams need.
fn spare_threads() -> io::Result<()> {
    let mut threads = Vec::new();
    for _ in 0..STREAM_THREADS {
        let (release, wait) = channel::<()>();
        let thread = thread::Builder::new().spawn(move || wait.recv().is_ok())?;
        threads.push((release, thread));
    }
    for (release, thread) in threads {
        drop(release);
        // The thread cannot panic.
        drop(thread.join());
    }
    Ok(())
}

/// Makes tokio create the threads. tokio panics if another process of the user has
/// taken them first.
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
        // With only one thread, the second message would never arrive.
        let patience = Duration::from_secs(1);
        held.iter()
            .all(|(_, arrived)| arrived.recv_timeout(patience).is_ok())
    }));
    match made {
        Ok(true) => Ok(()),
        _ => Err(no_thread()),
    }
}
