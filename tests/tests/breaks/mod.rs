//! Ways in which a promise was once broken, a module for each. What each does must
//! not work any more.

/// A key in the wrong place came back in an error, or in what `check` printed.
mod echoed_key;
/// A teammate that was named as an agent got what was bound to that agent.
mod named_teammate;
/// Another user put a program into the plugin's data folder, and it was run.
mod open_data_folder;
/// An install removed files beneath the folder that it was given.
mod removed_beneath;
