//! Attacks that once worked. Each test has the name of what was broken, and asserts
//! the right behaviour.

/// A core file, or a look into the server's memory.
#[cfg(target_os = "linux")]
mod core_file;
/// A key in the wrong place came back in an error, or in what `check` printed.
mod echoed_key;
/// A FIFO that replaces the file between the check and the open.
mod fifo_swap;
/// A file system that never answers, made by the test itself.
mod fuse;
/// A client that guesses, and does not wait for answers.
mod guessing;
/// A file that hangs must not affect other files.
mod hung_read;
/// The key file of a binding, under a directory that somebody else owns.
mod key_file_path;
/// A server with almost no resources.
mod low_resources;
/// The map, under a directory that somebody else owns, or in procfs.
mod map_path;
/// A store through a mapping of the map, for which the kernel notes no time.
mod mapped_store;
/// A teammate with an agent's name got what was bound to that agent.
mod named_teammate;
/// Another user put a program into the plugin's data folder, and the plugin ran it.
mod open_data_folder;
/// An install removed files in subfolders of the folder that it was given.
mod removed_below;
/// A root whose directory somebody keeps swapping, who may write to the one above it.
mod root_flip;
/// A file that is saved in place, in each of the usual ways, while it is read.
mod saved_in_place;
/// Somebody else's directories, and what they do with them.
mod stranger;
/// What a hostile guest could carry from one call to the next, or exhaust.
mod traces;
/// A write lease that another process holds on the mapped file.
mod write_lease;
