//! The wall on Linux: Landlock for files, TCP and signals, and a filter of system calls. Each
//! enforces all that it can, because a kernel may lack the other.

use crate::{
    filter::filter,
    status::{Rights, WallStatus},
};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{apply_filter, apply_filter_all_threads};
use std::{
    error::Error,
    fs::{self, File},
    io, mem,
    os::fd::AsFd,
    thread,
    time::Duration,
};

/// The newest version of Landlock's interface that we use. An older kernel enforces what it knows.
const NEWEST: ABI = ABI::V9;

/// Gives up every system call that is not on the [list](crate::list), and every right over files
/// except reading. With [`Rights::Tickets`], the process may also delete files beneath `data`.
///
/// `look` returns two things: the directories beneath which the process may still open files for
/// reading, where None means everywhere; and anything else that it found. `look` runs when the
/// process can no longer write, but can still open any file for reading. The filter comes later.
/// The directories may have been opened with `O_PATH`.
///
/// Returns the parts of the wall that stand, and what else `look` found. A part that the kernel
/// lacks is missing in the status, and is no error.
///
/// This cannot be undone. It covers this thread and the threads that it starts, so the process must
/// have no other thread when this is called.
///
/// # Errors
/// - There are too few descriptors, or too little memory.
/// - The process has other threads, and a part of the wall stands (Landlock, the filter). If no
///   part stands, other threads are no error: an emulator of another processor has threads of its
///   own, and offers no part.
///
/// After an error, some rights may be gone already, so the process should end.
pub fn restrict_process<R: AsFd, T>(
    rights: Rights,
    data: Option<File>,
    look: impl FnOnce() -> (Option<Vec<R>>, T),
) -> io::Result<(WallStatus, T)> {
    let is_alone = has_one_thread();
    // Both parts of the wall set this too. It is set here in case the kernel has neither part.
    let _ = set_no_new_privs(true);
    let landlock = write_nothing(rights, data.as_ref())?;
    let (reach, found) = look();
    let roots = match &reach {
        Some(directories) => read_beneath(directories)?,
        // The process may read everywhere.
        None => false,
    };
    // A rule is for an inode. Some file systems (9p, FUSE) forget a directory that nobody has
    // open, and give its name a new inode at the next look-up. So these stay open as long as
    // the process lives.
    mem::forget((data, reach));
    // A kernel or a machine without this part is no error.
    let system_calls = match filter(rights) {
        Some(filter) => apply_filter_all_threads(&filter).is_ok(),
        None => false,
    };
    let status = WallStatus {
        landlock,
        system_calls,
        roots,
    };
    // With the default status, no part stands.
    if is_alone || status == WallStatus::default() {
        return Ok((status, found));
    }
    let why = "the wall needs a process with a single thread";
    Err(io::Error::other(why))
}

/// Whether this process has a single thread. True also if `/proc` is missing, so that nobody can
/// say. A thread that has ended may be listed for a moment, so this looks up to 100 times, a
/// millisecond apart, before the answer is false.
fn has_one_thread() -> bool {
    for _ in 0..100 {
        #[expect(clippy::disallowed_methods, reason = "this process's own threads")]
        let threads = fs::read_dir("/proc/self/task").map(Iterator::count);
        if threads.unwrap_or(1) == 1 {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The parts of the wall that stand around a thread which puts the wall up and ends. No part, if no
/// thread can be started, or if the thread panics.
pub(crate) fn status() -> WallStatus {
    let Ok(thread) = thread::Builder::new().spawn(restrict_this_thread) else {
        return WallStatus::default();
    };
    thread.join().unwrap_or_default()
}

/// Puts the wall up around this thread only, and returns the parts that stand: a part that the
/// kernel lacks, or that an error stopped, does not. The thread may still read files anywhere.
fn restrict_this_thread() -> WallStatus {
    // This comes before the filter, which does not let Landlock's calls through.
    let landlock = write_nothing(Rights::Read, None).ok().flatten();
    let system_calls = match filter(Rights::Read) {
        Some(filter) => apply_filter(&filter).is_ok(),
        None => false,
    };
    WallStatus {
        landlock,
        system_calls,
        roots: false,
    }
}

/// From now on, this thread and the threads that it starts can open files for reading only beneath
/// these directories. Returns true if this is in force. False if the kernel has no Landlock, or an
/// error stopped it: then the thread can read as before.
///
/// # Errors
/// A lack of descriptors or memory.
pub fn read_beneath<D: AsFd>(directories: impl IntoIterator<Item = D>) -> io::Result<bool> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::ReadFile)
        .and_then(Ruleset::create);
    Ok(restrict(rules, AccessFs::ReadFile.into(), directories)?.is_some())
}

/// Restricts this thread by Landlock. The thread may still read all files, and with
/// [`Rights::Tickets`] delete files beneath `data`. It may not write, make, run or delete any other
/// file, use TCP, or send a signal to another process. Returns the version of Landlock that is now
/// in force. None if the kernel has no Landlock, or an error stopped it.
///
/// # Errors
/// A lack of descriptors or memory.
fn write_nothing(rights: Rights, data: Option<&File>) -> io::Result<Option<u32>> {
    // Landlock leaves out each right that the kernel does not know.
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST) | AccessFs::Execute)
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let tickets = match rights {
        Rights::Read => None,
        Rights::Tickets => data,
    };
    restrict(rules, AccessFs::RemoveFile.into(), tickets)
}

/// Restricts this thread: it loses the rights that `rules` handle, and keeps those that are
/// `granted` beneath `directories`. Returns the version of Landlock that is now in force. None if
/// the kernel has no Landlock, or if an error other than the one below stopped it. Nobody learns
/// that error, but the wall's status then has no Landlock.
///
/// # Errors
/// A lack of descriptors or memory. Such a lack passes, and without an error the wall would be
/// missing for the life of the process.
fn restrict<D: AsFd>(
    rules: Result<RulesetCreated, RulesetError>,
    granted: BitFlags<AccessFs>,
    directories: impl IntoIterator<Item = D>,
) -> io::Result<Option<u32>> {
    match enforce(rules, granted, directories) {
        Ok(status) => Ok(version_in_force(&status)),
        Err(error) => match lack_of_resources(&error) {
            Some(lack) => Err(lack),
            None => Ok(None),
        },
    }
}

/// Restricts this thread as [`restrict`] does, and returns the report or the error of Landlock's
/// own library.
fn enforce<D: AsFd>(
    rules: Result<RulesetCreated, RulesetError>,
    granted: BitFlags<AccessFs>,
    directories: impl IntoIterator<Item = D>,
) -> Result<RestrictionStatus, RulesetError> {
    let mut created = rules?;
    for directory in directories {
        created = created.add_rule(PathBeneath::new(directory, granted))?;
    }
    created.restrict_self()
}

/// The version of Landlock that is in force, such as 7. None if Landlock enforces nothing, or is
/// not there.
fn version_in_force(status: &RestrictionStatus) -> Option<u32> {
    if !status.no_new_privs || status.ruleset == RulesetStatus::NotEnforced {
        return None;
    }
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        _ => None,
    }
}

/// The system's error `EMFILE`, `ENFILE` or `ENOMEM` (too few descriptors, or too little memory),
/// if `reported` is one of these or was caused by one. None for any other error.
fn lack_of_resources(reported: &(dyn Error + 'static)) -> Option<io::Error> {
    let mut cause = Some(reported);
    while let Some(error) = cause {
        let code = error.downcast_ref().and_then(io::Error::raw_os_error);
        if let Some(lack @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM)) = code {
            return Some(io::Error::from_raw_os_error(lack));
        }
        cause = error.source();
    }
    None
}
