//! The wall on Linux: Landlock for files, TCP and signals, and a filter of system
//! calls. Each enforces all that it can, because a kernel may lack the other.

use super::{Reach, SealError, Standing, calls};
use crate::os_error::is_exhaustion;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::{
    process::{DumpableBehavior, set_dumpable_behavior},
    thread::set_no_new_privs,
};
use seccompiler::sock_filter;
use std::{
    error::Error,
    fmt, fs, io,
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    thread,
};

/// The version that [`Reach::Sealed`] needs: every right over files that it knows,
/// and TCP, which is new in it.
const NEEDED: ABI = ABI::V4;

/// The newest version that we use if the kernel has it.
const NEWEST: ABI = ABI::V9;

/// A wall that is prepared, but not up yet.
pub struct Seal {
    reach: Reach,
    rules: Result<RulesetCreated, SealError>,
}

/// A wall of which the first part is up, in this thread and those that it starts: the one
/// that judges the object of a call. Only a thread that had it from its start can have it.
#[must_use = "the process can still make every system call"]
pub struct HalfSeal {
    reach: Reach,
    is_alone: bool,
    landlock: Result<u32, SealError>,
}

/// The rights that are still to be given up, once the sandbox is loaded.
#[derive(Debug)]
#[must_use = "the process can still make machine code"]
pub struct Loading {
    reach: Reach,
    filtered: bool,
}

impl Seal {
    /// Prepares a wall. It gives nothing up yet.
    ///
    /// # Errors
    /// [`SealError::Landlock`] and [`SealError::Seccomp`] if the kernel cannot do
    /// all that [`Reach::Sealed`] needs. For the other values of [`Reach`], it leaves
    /// out what the kernel lacks.
    pub fn new(reach: Reach) -> Result<Self, SealError> {
        let rules = rules(reach).map_err(refused);
        Ok(match reach {
            Reach::Sealed => {
                calls::filter(reach, false)?;
                let rules = Ok(rules?);
                Self { reach, rules }
            }
            Reach::Reading | Reach::Tickets => Self { reach, rules },
        })
    }

    /// Gives up every system call that is not on the [list](super::list), and every
    /// right over files except reading. With [`Reach::Sealed`], reading is allowed
    /// only in `directories`, otherwise everywhere. With [`Reach::Tickets`], the
    /// process may also delete files in `directories`. The directories may have been
    /// opened with `O_PATH`.
    ///
    /// This cannot be undone. It covers this thread and the threads that it starts.
    /// So the process must have no other thread. Only if neither part of the wall can be
    /// put up, it may: an emulator of another processor has threads of its own, and
    /// offers neither part.
    ///
    /// With [`Reach::Sealed`], this gives up everything, so the sandbox must be
    /// loaded before. Otherwise [`Loading::done`] gives up the rest.
    ///
    /// # Errors
    /// [`SealError`], also if the kernel supports the wall and lacks only file
    /// descriptors or memory for it. Some rights may be gone already, so the process
    /// should end.
    pub fn apply<D: AsFd>(
        self,
        directories: impl IntoIterator<Item = D>,
    ) -> Result<(Standing, Loading), SealError> {
        self.apply_to_files(directories)?
            .apply_to_calls(seccompiler::apply_filter)
    }

    /// Puts up the first part: gives up every right over files except reading. The thread
    /// that loads the sandbox can be started from here on, and no other.
    ///
    /// # Errors
    /// As for [`Self::apply`].
    pub fn apply_to_files<D: AsFd>(
        self,
        directories: impl IntoIterator<Item = D>,
    ) -> Result<HalfSeal, SealError> {
        // Each thread has a directory in this one, which is one more name of it.
        let is_alone = match fs::metadata("/proc/self/task") {
            Ok(threads) if threads.nlink() > 2 => threads.nlink() == 3,
            Ok(_) => fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1),
            // Our own program starts no thread before this.
            Err(_) => self.reach != Reach::Sealed,
        };
        if self.reach == Reach::Sealed {
            if !is_alone {
                return Err(SealError::NotAlone);
            }
            hide_memory()?;
        }
        self.apply_to_files_here(directories, is_alone)
    }

    /// Puts the first part up for this thread and the threads that it starts.
    fn apply_to_files_here<D: AsFd>(
        self,
        directories: impl IntoIterator<Item = D>,
        is_alone: bool,
    ) -> Result<HalfSeal, SealError> {
        // Both parts set this too. We set it here in case the kernel has neither
        // part.
        let _ = set_no_new_privs(true);
        let landlock = self
            .rules
            .and_then(|rules| restrict(rules, self.reach, directories));
        // A lack of resources is temporary, but the wall would be missing for the
        // life of the process.
        if let Err(error @ SealError::OutOfResources(_)) = landlock {
            return Err(error);
        }
        Ok(HalfSeal {
            reach: self.reach,
            is_alone,
            landlock,
        })
    }
}

impl HalfSeal {
    /// Puts up the rest, for all threads of the process: gives up every system call that
    /// is not on the [list](super::list).
    ///
    /// # Errors
    /// As for [`Seal::apply`].
    pub fn apply_to_all(self) -> Result<(Standing, Loading), SealError> {
        self.apply_to_calls(seccompiler::apply_filter_all_threads)
    }

    fn apply_to_calls(
        self,
        apply: impl FnOnce(&[sock_filter]) -> seccompiler::Result<()>,
    ) -> Result<(Standing, Loading), SealError> {
        let calls = calls::filter(self.reach, self.reach != Reach::Sealed)
            .and_then(|calls| apply(&calls).map_err(|error| SealError::Seccomp(error.into())));
        let standing = match self.reach {
            Reach::Sealed => Standing {
                landlock: Some(self.landlock?),
                system_calls: calls.map(|()| true)?,
            },
            Reach::Reading | Reach::Tickets => Standing {
                landlock: self.landlock.ok(),
                system_calls: calls.is_ok(),
            },
        };
        if !self.is_alone && standing != Standing::default() {
            return Err(SealError::NotAlone);
        }
        let loading = Loading {
            reach: self.reach,
            filtered: standing.system_calls,
        };
        Ok((standing, loading))
    }
}

impl Loading {
    /// Gives up, in all threads, the rights that only loading the sandbox needs, and
    /// hides the process's memory. With [`Reach::Sealed`], [`Seal::apply`] has
    /// already done both.
    ///
    /// # Errors
    /// [`SealError::Unfinished`]. Then the process should end.
    pub fn done(self) -> Result<(), SealError> {
        if self.reach == Reach::Sealed {
            return Ok(());
        }
        hide_memory()?;
        if !self.filtered {
            return Ok(());
        }
        let calls = calls::filter_when_loaded(self.reach)?;
        seccompiler::apply_filter_all_threads(&calls)
            .map_err(|error| SealError::Unfinished(error.into()))
    }
}

/// Hides this process's memory from other processes of the same user, and from
/// programs to which the kernel pipes core dumps, because no core limit applies to
/// them. The sandbox must be loaded: after this, a user cannot open their own
/// `/proc/self/pagemap`.
fn hide_memory() -> Result<(), SealError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| SealError::Unfinished(error.into()))
}

/// The parts of the wall that stand on this system. To find out, it puts the wall up
/// in a thread that then ends.
pub(super) fn standing() -> Standing {
    let put_up = || {
        let none: [io::Stdin; 0] = [];
        let (standing, _) = Seal::new(Reach::Reading)?
            .apply_to_files_here(none, true)?
            .apply_to_calls(seccompiler::apply_filter)?;
        Ok::<_, SealError>(standing)
    };
    thread::Builder::new()
        .spawn(put_up)
        .ok()
        .and_then(|thread| thread.join().ok())
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// Restricts this thread, and returns the version of Landlock that is now in force.
fn restrict<D: AsFd>(
    mut rules: RulesetCreated,
    reach: Reach,
    directories: impl IntoIterator<Item = D>,
) -> Result<u32, SealError> {
    let granted = match reach {
        Reach::Sealed => BitFlags::from(AccessFs::ReadFile),
        Reach::Tickets => BitFlags::from(AccessFs::RemoveFile),
        Reach::Reading => BitFlags::EMPTY,
    };
    for directory in directories.into_iter().take_while(|_| !granted.is_empty()) {
        let rule = PathBeneath::new(directory, granted);
        rules = rules.add_rule(rule).map_err(refused)?;
    }
    let status = rules.restrict_self().map_err(refused)?;
    let held = status.ruleset != RulesetStatus::NotEnforced && status.no_new_privs;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if held => Ok(effective_abi as u32),
        _ => Err(SealError::Landlock("it was not enforced".into())),
    }
}

fn rules(reach: Reach) -> Result<RulesetCreated, RulesetError> {
    let handled = |abi| match reach {
        Reach::Sealed => AccessFs::from_all(abi),
        Reach::Reading | Reach::Tickets => AccessFs::from_write(abi) | AccessFs::Execute,
    };
    let rules = match reach {
        Reach::Sealed => Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(handled(NEEDED))?
            .handle_access(AccessNet::from_all(NEEDED))?
            .set_compatibility(CompatLevel::BestEffort),
        Reach::Reading | Reach::Tickets => Ruleset::default(),
    };
    // Uses as much as the kernel has.
    rules
        .handle_access(handled(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

fn refused(error: RulesetError) -> SealError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>() {
            Some(error) if is_exhaustion(error) => {
                return SealError::OutOfResources(error.kind().into());
            }
            _ => cause = error.source(),
        }
    }
    SealError::Landlock(error.into())
}

impl fmt::Debug for HalfSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HalfSeal").finish_non_exhaustive()
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}
