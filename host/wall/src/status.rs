//! What a process may still change behind the wall, and which parts of the wall stand.

use std::fmt;

/// What a process can still change behind the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Read,
    /// It can delete files in the data folder, where tickets are.
    Tickets,
}

/// The parts of the wall that stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallStatus {
    /// The version of Landlock's interface that is in force.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub system_calls: bool,
    /// Whether files can be opened only beneath the directories that were named.
    pub roots: bool,
}

impl WallStatus {
    /// Whether the system has all parts. Whether the map has roots is another question.
    pub fn is_whole(self) -> bool {
        self.landlock.is_some() && self.system_calls
    }
}

/// The system's parts, for people: `Landlock ABI 7, no system-call filter`.
impl fmt::Display for WallStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            Some(version) => write!(f, "Landlock ABI {version}")?,
            None => f.write_str("no Landlock")?,
        }
        let no = if self.system_calls { "" } else { "no " };
        write!(f, ", {no}system-call filter")
    }
}
