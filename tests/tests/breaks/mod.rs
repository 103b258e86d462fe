//! Attacks that worked once, one file each. Each fails on the program as it was.

/// A core file of the server, and its memory, in the hands of the same user.
#[cfg(target_os = "linux")]
mod core_file;
