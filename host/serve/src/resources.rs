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

/// The runtime. It is never dropped, since a drop would wait for a read that hangs in the kernel.
pub type Runtime = ManuallyDrop<runtime::Runtime>;

/// The runtime. Its protocol runs in the thread that waits for it. Calls and the two streams run in
/// other threads: two for the streams, and one for each call that may run at once. None of these
/// threads exists yet. Each will run `begin` first.
///
/// # Errors
/// If the system refuses the runtime a descriptor.
pub fn runtime(begin: impl Fn() + Send + Sync + 'static) -> io::Result<Runtime> {
    // tokio panics if the system refuses it a descriptor for signals.
    would_block_if_panicking(|| {
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

/// Makes the runtime create `count` threads now, for the first call and for the streams. Without
/// this, the system could refuse a thread during the session, and tokio would panic then.
///
/// # Errors
/// `WouldBlock` if the system refuses a thread: tokio panics, which is caught; or, for a second
/// thread or a later one, a job does not run within a second.
pub fn make_threads(runtime: &Runtime, count: usize) -> io::Result<()> {
    would_block_if_panicking(|| {
        // Each job waits for this lock until the end of this function, so that the next job needs
        // another thread.
        let gate = Arc::new(Mutex::new(()));
        let _shut = gate.lock();
        let (arrive, arrivals) = channel();
        for _ in 0..count {
            let gate = Arc::clone(&gate);
            let arrive = arrive.clone();
            runtime.spawn_blocking(move || {
                let _ = arrive.send(());
                drop(gate.lock());
            });
        }
        // If the system refuses the first thread, tokio panics: a single job is not waited for. If
        // the system refuses a later thread, tokio says nothing, and a job never runs.
        if count > 1 {
            for _ in 0..count {
                if arrivals.recv_timeout(Duration::from_secs(1)).is_err() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
            }
        }
        Ok(())
    })
}

/// The memory, in bytes, that all calls may take at once, with what the C library sets apart for
/// each thread (64 MiB in glibc).
const ALL_CALLS_BYTES: u64 = 2 << 30;
/// The memory, in bytes, that the program and one call for the largest file take.
pub(crate) const CALL_BYTES: u64 = 512 << 20;
/// The memory, in bytes, that the program takes while it reads the largest map, of nothing but
/// small inline tables.
pub const MAP_BYTES: u64 = 320 << 20;
/// How many bytes of memory a comparison takes at most for each byte of a document and a report.
const COMPARED_BYTES: u64 = 128;
/// The main thread's stack, in bytes.
const STACK_BYTES: u64 = 256 << 10;

/// Whether the system's limit is lower than this. Without a limit, it is not.
fn is_below(limit: Resource, bytes: u64) -> bool {
    getrlimit(limit).current.is_some_and(|most| most < bytes)
}

/// Whether the limits (`ulimit -v`, `-d`) allow less memory than this.
fn is_memory_below(bytes: u64) -> bool {
    is_below(Resource::As, bytes) || is_below(Resource::Data, bytes)
}

/// How many calls run at once: one, if the limits allow less memory than all may take.
pub(crate) fn calls_at_once() -> usize {
    if is_memory_below(ALL_CALLS_BYTES) {
        1
    } else {
        Limits::default().running
    }
}

/// Makes sure that this process may have so many bytes of memory. A program that gets no memory for
/// one byte more ends, with all of its calls.
///
/// # Errors
/// `OutOfMemory` if the limits allow fewer bytes than these, or a smaller stack than the program
/// takes.
pub fn require_memory(bytes: u64) -> io::Result<()> {
    if is_memory_below(bytes) || is_below(Resource::Stack, STACK_BYTES) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Ok(())
}

/// Makes sure of the memory for the comparison of a document and a report, which have `bytes` bytes
/// together.
///
/// # Errors
/// [`Refusal::OutOfResources`] if the limits allow less.
pub fn room_to_compare(bytes: usize) -> Result<(), Refusal> {
    // A call for a file of at most 1 MiB takes less than this, and the rest is enough to compare 1
    // MiB.
    let beyond_a_call = (bytes as u64).saturating_sub(1 << 20);
    require_memory(CALL_BYTES + COMPARED_BYTES * beyond_a_call).map_err(|_| Refusal::OutOfResources)
}

/// What `does` returns; or the error `WouldBlock` if `does` panics, since tokio panics if the
/// system refuses it something. The panic prints nothing.
fn would_block_if_panicking<T>(does: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let report = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(does));
    panic::set_hook(report);
    done.unwrap_or_else(|_| Err(io::ErrorKind::WouldBlock.into()))
}
