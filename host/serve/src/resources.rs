//! With few file descriptors or threads, a server fails at its start, and does not panic later.

use keyhole_core::{Refusal, limits::Limits};
use rustix::process::{Resource, getrlimit};
use std::{
    io,
    mem::ManuallyDrop,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, mpsc::channel},
    time::Duration,
};
use tokio::runtime::{self, Builder};

/// The threads that copy the standard streams if these are not both pipes.
pub const STREAM_THREADS: usize = 2;

/// It is never dropped: that would wait for a read that hangs in the kernel.
pub type Runtime = ManuallyDrop<runtime::Runtime>;

/// Makes the runtime, which has one thread for the protocol, and as many for calls as may run; each
/// of these does `begin` first. It creates no thread yet.
pub fn runtime(begin: impl Fn() + Send + Sync + 'static) -> io::Result<Runtime> {
    // tokio panics if the system refuses it a descriptor for signals.
    unless_panicking(|| {
        Builder::new_current_thread()
            .enable_all()
            .on_thread_start(begin)
            .max_blocking_threads(calls_at_once() + STREAM_THREADS)
            // Threads live as long as the process, so the system refuses no later first one.
            .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
            .build()
            .map(ManuallyDrop::new)
    })
}

/// Makes the runtime create now the `most` threads that it needs for the first call and for its
/// streams: tokio would panic later if the system refused one.
pub fn make_threads(runtime: &Runtime, most: usize) -> io::Result<()> {
    unless_panicking(|| {
        // Each waits there, so that the next one's job needs another thread.
        let gate = Arc::new(Mutex::new(()));
        let _shut = gate.lock();
        let (arrive, arrived) = channel();
        for _ in 0..most {
            let (gate, arrive) = (Arc::clone(&gate), arrive.clone());
            runtime.spawn_blocking(move || {
                let _ = arrive.send(());
                drop(gate.lock());
            });
        }
        // With fewer threads than asked for, the last message would never arrive.
        let is_there = |_| arrived.recv_timeout(Duration::from_secs(1)).is_ok();
        let are_there = most == 1 || (0..most).all(is_there);
        let refused = io::ErrorKind::WouldBlock;
        are_there.then_some(()).ok_or(refused.into())
    })
}

/// So much memory, in bytes, all calls may take at once, with what the C library sets apart for
/// each thread (64 MiB in glibc).
const OF_ALL: u64 = 2 << 30;
/// So much the program and one call for the largest file take.
pub const OF_A_CALL: u64 = 512 << 20;
/// So much the program takes while it reads the largest map, of nothing but small inline tables.
pub const OF_A_MAP: u64 = 320 << 20;
/// For each byte of a document and a report, their comparison takes at most so many more.
const TO_COMPARE: u64 = 128;
/// The main thread's stack.
const STACK: u64 = 256 << 10;

fn is_below(limit: Resource, bytes: u64) -> bool {
    getrlimit(limit).current.is_some_and(|most| most < bytes)
}

fn is_short(bytes: u64) -> bool {
    is_below(Resource::As, bytes) || is_below(Resource::Data, bytes)
}

/// How many calls run at once: one, if the limits allow less memory than all may take.
pub fn calls_at_once() -> usize {
    let all = Limits::default().running;
    if is_short(OF_ALL) { 1 } else { all }
}

/// Fails if the limits allow fewer bytes than these. A program that gets no memory for one byte
/// more ends, with all of its calls.
pub fn room(bytes: u64) -> io::Result<()> {
    let is_short = is_short(bytes) || is_below(Resource::Stack, STACK);
    let refused = io::ErrorKind::OutOfMemory;
    (!is_short).then_some(()).ok_or(refused.into())
}

/// The same for the comparison of a document and a report that have so many bytes.
pub fn room_to_compare(bytes: usize) -> Result<(), Refusal> {
    // A call for a file of 1 MiB or less leaves so much for that.
    let more = (bytes as u64).saturating_sub(1 << 20);
    room(OF_A_CALL + TO_COMPARE * more).map_err(|_| Refusal::OutOfResources)
}

/// What `does` returns. If it panics, that is no fault of ours to report: it was refused.
fn unless_panicking<T>(does: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let report = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(does));
    panic::set_hook(report);
    done.unwrap_or_else(|_| Err(io::ErrorKind::WouldBlock.into()))
}
