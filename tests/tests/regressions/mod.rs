//! Attacks that once worked. Each test has the name of what was broken, and asserts
//! the right behaviour.

#[cfg(target_os = "linux")]
mod core_file;
mod echoed_key;
mod fifo_swap;
pub(crate) mod foreign_directory;
#[cfg(target_os = "linux")]
mod fuse;
#[cfg(target_os = "linux")]
mod hung_read;
mod low_resources;
/// A store through a mapping of the map, for which the kernel notes no time.
mod mapped_store;
mod namespace;
#[cfg(target_os = "linux")]
mod odd_bytes;
mod open_data_folder;
mod pasted;
pub(crate) mod saved_in_place;
#[cfg(target_os = "linux")]
mod ticket_folder;
mod traces;
#[cfg(target_os = "linux")]
mod write_lease;
