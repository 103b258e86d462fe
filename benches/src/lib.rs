//! For the counts in `tests/counts`: files to serve, and a client that costs as little as
//! possible.

pub mod client;
pub mod files;
