//! Looks at a file system that may hang, on a thread that may be lost there.

use std::{io, sync::mpsc::channel, thread, time::Instant};

/// What `look` finds on a thread of its own, which has ended then. None if it does not until
/// `until`: its file system hangs, and so does the thread.
///
/// # Errors
/// If the system refuses the thread.
pub fn patiently<T: Send + 'static>(
    until: Instant,
    look: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (send, receive) = channel();
    let thread = thread::Builder::new().spawn(move || drop(send.send(look())))?;
    let found = receive.recv_timeout(until.saturating_duration_since(Instant::now()));
    if found.is_ok() {
        drop(thread.join());
    }
    Ok(found.ok())
}
