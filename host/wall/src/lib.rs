//! The wall around the server's own process: before it serves, it gives up its own rights.
//!
//! The sandbox limits a guest to one file. This wall is around it: if somebody broke out of
//! the sandbox, or found a bug in the host, the operating system would still refuse them
//! nearly everything. [`restrict_process`] puts it up before the server reads anything from the
//! client, and nothing can take it down. Behind it, a process can still
//!
//! - open files for reading, beneath the map's roots and a few directories of the server's
//!   own; if the map has no roots, wherever its user may;
//! - ask for any path whether something is there, its size, owner, times and number of names,
//!   and where a link leads, which Landlock does not restrict;
//! - use its standard streams, memory and processor time, and start threads;
//! - with [`Rights::Tickets`], delete files in the data folder, where tickets are.
//!
//! docs/promises.md has what it cannot do.
//!
//! Two mechanisms enforce this together. Landlock judges the object of a call: a file, a port,
//! a process. It grants whole hierarchies, so a grant for a single file would not work: a file
//! that is saved by renaming is another file each time. The filter judges the call itself, by
//! the list of `list.rs`, and also those of its arguments that are numbers. If a kernel lacks
//! one of the two, `serve` says so and serves; with `--require-wall` it does not start.
//!
//! Only Linux can do this without a privileged helper. macOS has nothing like it for a program
//! that is not packaged as an application: `sandbox_init` is deprecated and undocumented.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub mod list;
mod process;
mod status;

#[cfg(target_os = "linux")]
pub use linux::{read_beneath, restrict_process};
pub use process::{close_inherited, end_after, hide_memory, set_signals};
pub use status::{Rights, WallStatus};

/// Gives nothing up, because the system has no wall. Returns the status without any part, and what
/// `look` found.
#[cfg(not(target_os = "linux"))]
pub fn restrict_process<R, T>(
    _: Rights,
    _: Option<std::fs::File>,
    look: impl FnOnce() -> (Option<Vec<R>>, T),
) -> std::io::Result<(WallStatus, T)> {
    Ok((WallStatus::default(), look().1))
}

/// Gives nothing up, because the system has no wall, and returns false.
#[cfg(not(target_os = "linux"))]
pub fn read_beneath<D>(_: impl IntoIterator<Item = D>) -> std::io::Result<bool> {
    Ok(false)
}

impl WallStatus {
    /// The parts that would stand if a server put the wall up on this system now, for a map
    /// without roots. To find out, a new thread puts the wall up around itself, and ends.
    pub fn here() -> Self {
        #[cfg(target_os = "linux")]
        return linux::status();
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }
}
