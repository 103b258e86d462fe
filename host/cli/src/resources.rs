//! How the server handles few file descriptors or threads: a clear error at the
//! start, no panic later.

use std::{
    io,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::mpsc::channel,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// The threads on which tokio reads standard input and writes standard output, if
/// they are not both pipes.
const STREAM_THREADS: usize = 2;

/// The file descriptors that the runtime takes: two for its events, three for
/// signals. It panics if the system refuses it one for signals.
const DESCRIPTORS: usize = 5;

/// Makes the runtime, which has one thread for the protocol, and up to `threads` for calls.
/// It creates no thread yet, but it first checks that the resources for all of this are
/// free: tokio would panic later.
pub(crate) fn runtime(threads: usize) -> io::Result<Runtime> {
    runtime_of(threads, || {})
}

/// The same. Each thread for calls does `start` first.
pub(crate) fn runtime_of(
    threads: usize,
    start: impl Fn() + Send + Sync + 'static,
) -> io::Result<Runtime> {
    spare_descriptors(DESCRIPTORS)?;
    Builder::new_current_thread()
        .enable_all()
        .on_thread_start(start)
        .max_blocking_threads(threads + STREAM_THREADS)
        // Threads live as long as the process. So a thread that the system refuses
        // later is never the first one.
        .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
        .build()
}

/// Makes the runtime create now the thread of the first call, and those that its streams
/// will need: tokio would panic later if the system refused one.
pub(crate) fn make_threads(runtime: &Runtime, streams_are_pipes: bool) -> io::Result<()> {
    let threads = if streams_are_pipes {
        1
    } else {
        1 + STREAM_THREADS
    };
    // If it panics, that is no fault of ours to report.
    let report = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let made = keep_threads(runtime, threads);
    panic::set_hook(report);
    made
}

/// If the client reads from a pipe, asks for a larger one: then a document of 1 MiB needs
/// a few turns of writer and reader instead of sixteen. It does not ask for more, because
/// all pipes of a user together may hold only so much (64 MiB by default). Beyond that,
/// new pipes of any program are tiny.
#[cfg(target_os = "linux")]
pub(crate) fn widen_output() {
    const BYTES: usize = 256 << 10;
    let stdout = io::stdout();
    let has_less = rustix::pipe::fcntl_getpipe_size(&stdout).is_ok_and(|bytes| bytes < BYTES);
    if has_less {
        // If this fails, the pipe stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, BYTES);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn widen_output() {}

/// Fails if the system refuses this many descriptors at once.
#[cfg(unix)]
fn spare_descriptors(most: usize) -> io::Result<()> {
    use std::os::fd::AsFd as _;
    let stdin = io::stdin();
    let spare: io::Result<Vec<_>> = (0..most)
        .map(|_| stdin.as_fd().try_clone_to_owned())
        .collect();
    spare.map(drop)
}

/// Nothing to check: only memory limits the number of handles.
#[cfg(windows)]
fn spare_descriptors(_: usize) -> io::Result<()> {
    Ok(())
}

/// Makes tokio create the threads. tokio panics if the system refuses one.
fn keep_threads(runtime: &Runtime, most: usize) -> io::Result<()> {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut held = Vec::new();
        for _ in 0..most {
            let (release, wait) = channel::<()>();
            let (arrive, arrived) = channel();
            runtime.spawn_blocking(move || {
                let _ = arrive.send(());
                let _ = wait.recv();
            });
            held.push((release, arrived));
        }
        // The first thread is there, or tokio has panicked. With fewer threads than asked
        // for, the last message would never arrive.
        let patience = Duration::from_secs(1);
        most == 1
            || held
                .iter()
                .all(|(_, arrived)| arrived.recv_timeout(patience).is_ok())
    }));
    match made {
        Ok(true) => Ok(()),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}
