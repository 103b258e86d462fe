//! The wall on Linux: Landlock for files, TCP and signals, and a filter of system
//! calls. Each enforces all that it can, because a kernel may lack the other.

use crate::{Rights, Standing, WallError, filter::filter};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::thread::set_no_new_privs;
use seccompiler::apply_filter;
use std::{error::Error, fs, io, os::fd::AsFd, thread, time::Duration};

/// The version that [`Rights::Sealed`] needs: every right over files that it knows,
/// and TCP, which is new in it.
const NEEDED: ABI = ABI::V4;

/// The newest version that we use if the kernel has it.
const NEWEST: ABI = ABI::V9;

/// How often [`Rights::Sealed`] looks whether other threads have ended, once in a
/// millisecond.
const LOOKS: u32 = 1000;

/// Gives up every system call that is not on the [list](crate::list), and every right
/// over files except reading. With [`Rights::Sealed`], reading is allowed only in
/// `directories`, otherwise everywhere. With [`Rights::Tickets`], the process may also
/// delete files in `directories`. The directories may have been opened with `O_PATH`.
///
/// This cannot be undone. It covers this thread and the threads that it starts, so the
/// process must have no other thread. Only if neither part of the wall can be put up, it
/// may: an emulator of another processor has threads of its own, and offers neither part.
///
/// # Errors
/// [`WallError`] if the kernel cannot do all that [`Rights::Sealed`] needs, or if it lacks
/// only descriptors or memory for the wall. For the other rights, what else the kernel
/// lacks is left out. Some rights may be gone already, so the process should end.
pub fn put_up<D: AsFd>(
    rights: Rights,
    directories: impl IntoIterator<Item = D>,
) -> Result<Standing, WallError> {
    let is_alone = match rights {
        Rights::Sealed => others_have_ended(),
        // Our own program starts no thread before this.
        Rights::Read | Rights::Tickets => threads().is_none_or(|count| count == 1),
    };
    if !is_alone && rights == Rights::Sealed {
        return Err(WallError::NotAlone);
    }
    let standing = put_up_here(rights, directories)?;
    match is_alone || standing == Standing::default() {
        true => Ok(standing),
        false => Err(WallError::NotAlone),
    }
}

/// How many threads the process has. None if `/proc` is missing.
fn threads() -> Option<usize> {
    #[expect(clippy::disallowed_methods, reason = "this process's own threads")]
    let threads = fs::read_dir("/proc/self/task").ok()?;
    Some(threads.count())
}

/// Whether the process has no other thread any more. One that was joined is still listed
/// until the system has cleared it away, which on a busy machine takes its time.
fn others_have_ended() -> bool {
    for _ in 0..LOOKS {
        match threads() {
            Some(1) => return true,
            Some(_) => thread::sleep(Duration::from_millis(1)),
            None => return false,
        }
    }
    false
}

/// Puts the wall up for this thread and the threads that it starts.
fn put_up_here<D: AsFd>(
    rights: Rights,
    directories: impl IntoIterator<Item = D>,
) -> Result<Standing, WallError> {
    // Both parts set this too. We set it here in case the kernel has neither part.
    let _ = set_no_new_privs(true);
    let landlock = restrict(rights, directories);
    let filter = filter(rights)
        .and_then(|filter| apply_filter(&filter).map_err(|error| WallError::Seccomp(error.into())));
    match (landlock, filter, rights) {
        // A lack of resources is temporary, but the wall would be missing for the life of
        // the process.
        (Err(error @ WallError::OutOfResources(_)), _, _)
        | (Err(error), _, Rights::Sealed)
        | (Ok(_), Err(error), Rights::Sealed) => Err(error),
        (landlock, filter, _) => Ok(Standing {
            landlock: landlock.ok(),
            system_calls: filter.is_ok(),
        }),
    }
}

/// The parts of the wall that stand on this system. To find out, it puts the wall up
/// in a thread that then ends.
pub(crate) fn standing() -> Standing {
    let put_up = || put_up_here(Rights::Read, None::<io::Stdin>);
    thread::Builder::new()
        .spawn(put_up)
        .ok()
        .and_then(|thread| thread.join().ok())
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// Restricts this thread, and returns the version of Landlock that is now in force.
fn restrict<D: AsFd>(
    rights: Rights,
    directories: impl IntoIterator<Item = D>,
) -> Result<u32, WallError> {
    let granted = match rights {
        Rights::Sealed => BitFlags::from(AccessFs::ReadFile),
        Rights::Tickets => BitFlags::from(AccessFs::RemoveFile),
        Rights::Read => BitFlags::EMPTY,
    };
    let mut rules = rules(rights).map_err(refused)?;
    for directory in directories.into_iter().take_while(|_| !granted.is_empty()) {
        let rule = PathBeneath::new(directory, granted);
        rules = rules.add_rule(rule).map_err(refused)?;
    }
    let status = rules.restrict_self().map_err(refused)?;
    let held = status.ruleset != RulesetStatus::NotEnforced && status.no_new_privs;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if held => Ok(effective_abi as u32),
        _ => Err(WallError::Landlock("it was not enforced".into())),
    }
}

fn rules(rights: Rights) -> Result<RulesetCreated, RulesetError> {
    let handled = |abi| match rights {
        Rights::Sealed => AccessFs::from_all(abi),
        Rights::Read | Rights::Tickets => AccessFs::from_write(abi) | AccessFs::Execute,
    };
    let rules = match rights {
        Rights::Sealed => Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(handled(NEEDED))?
            .handle_access(AccessNet::from_all(NEEDED))?
            .set_compatibility(CompatLevel::BestEffort),
        Rights::Read | Rights::Tickets => Ruleset::default(),
    };
    // Uses as much as the kernel has.
    rules
        .handle_access(handled(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

fn refused(error: RulesetError) -> WallError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
        {
            Some(code @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM)) => {
                return WallError::OutOfResources(io::Error::from_raw_os_error(code));
            }
            _ => cause = error.source(),
        }
    }
    WallError::Landlock(error.into())
}
