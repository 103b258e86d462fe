//! Attacks that once worked. Each test is named for what was broken, and asserts
//! what holds instead.

/// A FIFO that takes the file's place between the look and the open.
mod fifo_swap;
/// A file that is saved in place, by each of the usual ways, while it is read.
mod saved_in_place;
/// What a hostile guest could carry from one call to the next, and use up.
mod traces;
/// A write lease that another process holds on the mapped file.
mod write_lease;
