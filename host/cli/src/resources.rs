//! With few file descriptors or threads, a server fails at its start, and does not panic later.

use rustix::process::{Resource, getrlimit};
use std::{
    hint::black_box,
    io,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// The threads on which tokio reads and writes standard streams that are not both pipes.
pub(crate) const STREAM_THREADS: usize = 2;

/// Makes the runtime, which has one thread for the protocol, and up to `threads` for calls; each
/// of these does `begin` first. It creates no thread yet.
pub(crate) fn runtime(
    threads: usize,
    begin: impl Fn() + Send + Sync + 'static,
) -> io::Result<Runtime> {
    let build = || {
        Builder::new_current_thread()
            .enable_all()
            .on_thread_start(begin)
            .max_blocking_threads(threads + STREAM_THREADS)
            // Threads live as long as the process, so the system refuses no later first one.
            .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
            .build()
    };
    // tokio panics if the system refuses it a descriptor for signals.
    unless_panicking(build).unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

/// Makes the runtime create now the `most` threads that it needs for the first call and for its
/// streams: tokio would panic later if the system refused one.
pub(crate) fn make_threads(runtime: &Runtime, most: usize) -> io::Result<()> {
    let made = unless_panicking(|| {
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
        // With fewer threads than asked for, the last message would never arrive.
        let patience = Duration::from_secs(1);
        let is_there = |(_, arrived): &(_, Receiver<()>)| arrived.recv_timeout(patience).is_ok();
        most == 1 || held.iter().all(is_there)
    });
    let refused = || io::ErrorKind::WouldBlock.into();
    made.filter(|made| *made).map(drop).ok_or_else(refused)
}

/// What the calls of a server may take of the memory at once, in bytes: the threads, and for each
/// the file, the answer, and what that takes while it grows.
const FOR_CALLS: usize = 512 << 20;

/// Fails if the system lets this process have less than that: a program that gets no memory for one
/// byte more ends, with all of its calls. Without a limit, the system decides who ends.
pub(crate) fn enough_for_calls() -> io::Result<()> {
    let limits = [Resource::As, Resource::Data].map(getrlimit);
    let is_limited = limits.iter().any(|limit| limit.current.is_some());
    let mut room = Vec::<u8>::new();
    let has_room = !is_limited || black_box(&mut room).try_reserve_exact(FOR_CALLS).is_ok();
    has_room
        .then_some(())
        .ok_or(io::ErrorKind::OutOfMemory.into())
}

/// What `does` returns. If it panics, that is no fault of ours to report.
fn unless_panicking<T>(does: impl FnOnce() -> T) -> Option<T> {
    let report = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(does));
    panic::set_hook(report);
    done.ok()
}
