//! Attacks that worked once, one file each. Each fails on the program as it was.

/// A file system that never answers, made by the test itself.
mod fuse;
/// A client that guesses, and does not wait for answers.
mod guessing;
/// A file that hangs, and every other file.
mod hung_read;
/// A server that may have next to nothing.
mod low_resources;
