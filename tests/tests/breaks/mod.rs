//! Attacks that once worked. Each test is named for what was broken, and asserts
//! what holds instead.

/// A key in the wrong place came back in an error, or in what `check` printed.
mod echoed_key;
/// A FIFO that takes the file's place between the look and the open.
mod fifo_swap;
/// A file system that never answers, made by the test itself.
mod fuse;
/// A client that guesses, and does not wait for answers.
mod guessing;
/// A file that hangs, and every other file.
mod hung_read;
/// The key file of a binding, beneath a directory that somebody else owns.
mod key_file_path;
/// A server that may have next to nothing.
mod low_resources;
/// The map, beneath a directory that somebody else owns, or in procfs.
mod map_path;
/// A store through a mapping of the map, of which the kernel notes no time.
mod mapped_store;
/// A teammate that was named as an agent got what was bound to that agent.
mod named_teammate;
/// Another user put a program into the plugin's data folder, and it was run.
mod open_data_folder;
/// An install removed files beneath the folder that it was given.
mod removed_beneath;
/// A root whose name is flipped by somebody who may write above it.
mod root_flip;
/// A file that is saved in place, by each of the usual ways, while it is read.
mod saved_in_place;
/// Somebody else's directories, and what they do with them.
mod stranger;
/// What a hostile guest could carry from one call to the next, and use up.
mod traces;
/// A write lease that another process holds on the mapped file.
mod write_lease;
