//! The wall on Linux: Landlock for files, TCP and signals, and a filter of system calls. Each
//! enforces all that it can, because a kernel may lack the other.

use crate::{Rights, WallStatus, filter::filter};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{apply_filter, apply_filter_all_threads};
use std::{
    error::Error,
    fs::{self, File},
    io, mem,
    os::fd::AsFd,
    thread,
};

/// The newest version that we use if the kernel has it.
const NEWEST: ABI = ABI::V9;

/// Gives up every system call that is not on the [list](crate::list), and every right over files
/// except reading. With [`Rights::Tickets`], the process may also delete files beneath `data`. Then
/// `look` says beneath which directories it may still open files for reading; None means
/// everywhere. What `look` does is behind the wall already, but for the filter and its own answer.
/// The directories may have been opened with `O_PATH`. What else `look` found is returned.
///
/// This cannot be undone. It covers this thread and the threads that it starts, so the
/// process must have no other thread. Only if neither part of the wall can be put up, it
/// may: an emulator of another processor has threads of its own, and offers neither part.
///
/// # Errors
/// There are too few descriptors, or too little memory; or another thread. What the kernel lacks is
/// no error: the status says it. Some rights may be gone already, so the process should end.
pub fn restrict_process<R: AsFd, T>(
    rights: Rights,
    data: Option<File>,
    look: impl FnOnce() -> (Option<Vec<R>>, T),
) -> io::Result<(WallStatus, T)> {
    // None if `/proc` is missing.
    #[expect(clippy::disallowed_methods, reason = "this process's own threads")]
    let threads = fs::read_dir("/proc/self/task").ok();
    let is_alone = threads.is_none_or(|threads| threads.count() == 1);
    // Both parts set this too. We set it here in case the kernel has neither part.
    let _ = set_no_new_privs(true);
    let landlock = write_nothing(rights, data.as_ref())?;
    let (reach, found) = look();
    let roots = reach.as_ref().map(read_beneath).transpose()?;
    // A rule is for an inode. Some file systems (9p, FUSE) forget a directory that nobody has
    // open, and give its name a new inode at the next look-up. So these stay open as long as
    // the process lives.
    mem::forget((data, reach));
    let status = WallStatus {
        landlock,
        system_calls: filter(rights)
            .is_some_and(|filter| apply_filter_all_threads(&filter).is_ok()),
        roots: roots.unwrap_or(false),
    };
    if is_alone || status == WallStatus::default() {
        return Ok((status, found));
    }
    let alone = "the wall needs a process with a single thread";
    Err(io::Error::other(alone))
}

pub(crate) fn status() -> WallStatus {
    let behind_it = || WallStatus {
        landlock: write_nothing(Rights::Read, None).ok().flatten(),
        roots: false,
        system_calls: filter(Rights::Read).is_some_and(|filter| apply_filter(&filter).is_ok()),
    };
    let thread = thread::Builder::new().spawn(behind_it);
    let status = thread.ok().and_then(|thread| thread.join().ok());
    status.unwrap_or_default()
}

/// From now on, this thread can open files for reading only beneath these directories, and so
/// can the threads that it starts. Returns whether this is so.
pub fn read_beneath<D: AsFd>(directories: impl IntoIterator<Item = D>) -> io::Result<bool> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::ReadFile)
        .and_then(Ruleset::create);
    Ok(restrict(rules, AccessFs::ReadFile.into(), directories)?.is_some())
}

/// Restricts this thread: no right over files but to read them, to delete them beneath `data`
/// with [`Rights::Tickets`]; no TCP, no signal to another process. Returns the version of
/// Landlock that is now in force, if there is one.
fn write_nothing(rights: Rights, data: Option<&File>) -> io::Result<Option<u32>> {
    // Uses as much as the kernel has.
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST) | AccessFs::Execute)
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let data = data.filter(|_| rights == Rights::Tickets);
    restrict(rules, AccessFs::RemoveFile.into(), data)
}

/// Restricts this thread by these rules. Only beneath `directories` it keeps what is `granted`.
///
/// What the kernel lacks is left out. A lack of resources is temporary, but the wall would be
/// missing for the life of the process.
fn restrict<D: AsFd>(
    rules: Result<RulesetCreated, RulesetError>,
    granted: BitFlags<AccessFs>,
    directories: impl IntoIterator<Item = D>,
) -> io::Result<Option<u32>> {
    let rule = |directory| Ok::<_, RulesetError>(PathBeneath::new(directory, granted));
    let beneath = directories.into_iter().map(rule);
    let rules = rules.and_then(|rules| rules.add_rules(beneath));
    let restricted = rules.and_then(RulesetCreated::restrict_self);
    let mut cause = restricted.as_ref().err().map(|error| error as &dyn Error);
    while let Some(error) = cause {
        let code = error.downcast_ref().and_then(io::Error::raw_os_error);
        if let Some(code @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM)) = code {
            return Err(io::Error::from_raw_os_error(code));
        }
        cause = error.source();
    }
    let status = restricted.ok().filter(|status| status.no_new_privs);
    let status = status.filter(|status| status.ruleset != RulesetStatus::NotEnforced);
    Ok(match status.map(|status| status.landlock) {
        Some(LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u32),
        _ => None,
    })
}
