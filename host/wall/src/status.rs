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
    /// The version of Landlock's interface that is in force. None if Landlock is not.
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub system_calls: bool,
    /// Whether files can be opened only beneath the directories that were named.
    pub roots: bool,
}

impl WallStatus {
    /// Whether both parts of the system stand: Landlock and the filter of system calls. `roots`
    /// does not count, because a map need not have roots.
    pub fn is_whole(self) -> bool {
        self.landlock.is_some() && self.system_calls
    }
}

/// The two parts of the system, for people: `Landlock ABI 7, no system-call filter`, or
/// `no Landlock, system-call filter`.
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
