//! Attacks that once worked. Each test is named for what was broken, and asserts
//! what holds instead.

/// The key file of a binding, beneath a directory that somebody else owns.
mod key_file_path;
/// The map, beneath a directory that somebody else owns, or in procfs.
mod map_path;
/// A store through a mapping of the map, of which the kernel notes no time.
mod mapped_store;
/// A root whose name is flipped by somebody who may write above it.
mod root_flip;
/// Somebody else's directories, and what they do with them.
mod stranger;
