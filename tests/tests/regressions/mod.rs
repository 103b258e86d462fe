//! Attacks that once worked. Each test has the name of what was broken, and asserts
//! the right behaviour.

/// A core file, a look into the server's memory, or what a client left open.
#[cfg(target_os = "linux")]
mod core_file;
/// A key in the wrong place came back in an error, or in what `check` printed.
mod echoed_key;
/// A FIFO that replaces the file between the check and the open.
mod fifo_swap;
/// A root or mapped file below a directory of another user.
pub(crate) mod foreign_directory;
/// A file system that never answers, made by the test itself.
#[cfg(target_os = "linux")]
mod fuse;
/// A file that hangs must not affect other files.
#[cfg(target_os = "linux")]
mod hung_read;
/// A server with almost no resources.
mod low_resources;
/// A store through a mapping of the map, for which the kernel notes no time.
mod mapped_store;
/// Somebody else's map, in a user namespace.
mod namespace;
/// A byte that is not UTF-8, in lists that other users may write to.
#[cfg(target_os = "linux")]
mod odd_bytes;
/// What others put into the plugin's data folder was run, or believed.
mod open_data_folder;
/// A command or a path that `check` printed, which another user or a repository had chosen.
mod pasted;
/// A file that is saved in place, in each of the usual ways, while it is read.
pub(crate) mod saved_in_place;
/// Somebody else's folder in the place of the plugin's.
#[cfg(target_os = "linux")]
mod ticket_folder;
/// What a hostile guest could carry from one call to the next, or exhaust.
mod traces;
/// A write lease that another process holds on the mapped file.
#[cfg(target_os = "linux")]
mod write_lease;
