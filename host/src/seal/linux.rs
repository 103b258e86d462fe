//! The wall on Linux: Landlock for files, TCP and signals, and a filter of system
//! calls. Each holds by itself what it can, since a kernel may lack the other.

use super::{Reach, SealError, Standing, calls};
use crate::os::is_exhaustion;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::{
    process::{DumpableBehavior, set_dumpable_behavior},
    thread::set_no_new_privs,
};
use seccompiler::BpfProgram;
use std::{error::Error, fmt, fs, io, os::fd::AsFd, thread};

/// What [`Reach::Sealed`] needs: every right over files that this version knows,
/// and TCP, which is new in it.
const NEEDED: ABI = ABI::V4;

/// What is taken if it is there.
const NEWEST: ABI = ABI::V9;

/// A wall that is ready to be put up.
pub struct Seal {
    reach: Reach,
    rules: Result<RulesetCreated, SealError>,
    calls: Result<BpfProgram, SealError>,
}

/// What is still to be given up, once the sandbox is loaded.
#[derive(Debug)]
#[must_use = "the process can still make machine code"]
pub struct Loading {
    reach: Reach,
    filtered: bool,
}

impl Seal {
    /// Prepares a wall. Nothing is given away yet.
    ///
    /// # Errors
    /// [`SealError::Landlock`] and [`SealError::Seccomp`] if the kernel cannot do
    /// all that [`Reach::Sealed`] needs. With less, what is missing is left out.
    pub fn new(reach: Reach) -> Result<Self, SealError> {
        let rules = rules(reach).map_err(refused);
        let calls = calls::filter(reach, reach != Reach::Sealed);
        Ok(match reach {
            Reach::Sealed => Self {
                reach,
                rules: Ok(rules?),
                calls: Ok(calls?),
            },
            Reach::Reading | Reach::Tickets => Self {
                reach,
                rules,
                calls,
            },
        })
    }

    /// Gives up every system call that is not on the [list](super::list), and every
    /// right over files but reading: with [`Reach::Sealed`] in `directories` only,
    /// otherwise everywhere; with [`Reach::Tickets`], what lies in `directories` may
    /// be deleted. They may have been opened with `O_PATH`.
    ///
    /// It cannot be undone, and holds for this thread and those it starts. So the
    /// process must have no other, unless there is nothing to put up: an emulator of
    /// another processor has threads of its own, and neither part of the wall.
    ///
    /// With [`Reach::Sealed`] that is all, so the sandbox must be loaded by then.
    /// Otherwise the rest is given up by [`Loading::done`].
    ///
    /// # Errors
    /// [`SealError`], also if the kernel has the wall and lacks only descriptors or
    /// memory for it. Rights may be gone already then, so the process should end.
    pub fn apply<D: AsFd>(
        self,
        directories: impl IntoIterator<Item = D>,
    ) -> Result<(Standing, Loading), SealError> {
        let is_alone = match fs::read_dir("/proc/self/task").map(Iterator::count) {
            Ok(threads) => threads == 1,
            // Our own program starts no thread before.
            Err(_) => self.reach != Reach::Sealed,
        };
        if self.reach == Reach::Sealed {
            if !is_alone {
                return Err(SealError::NotAlone);
            }
            hide_memory()?;
        }
        match self.apply_here(directories)? {
            (standing, _) if !is_alone && standing != Standing::default() => {
                Err(SealError::NotAlone)
            }
            applied => Ok(applied),
        }
    }

    /// For this thread and those it starts.
    fn apply_here<D: AsFd>(
        self,
        directories: impl IntoIterator<Item = D>,
    ) -> Result<(Standing, Loading), SealError> {
        // Both parts set this too. Here it is set though neither be there.
        let _ = set_no_new_privs(true);
        let landlock = self
            .rules
            .and_then(|rules| restrict(rules, self.reach, directories));
        // That passes, and then the wall would be missing for good.
        if let Err(error @ SealError::OutOfResources(_)) = landlock {
            return Err(error);
        }
        let calls = self.calls.and_then(|calls| {
            seccompiler::apply_filter(&calls).map_err(|error| SealError::Seccomp(error.into()))
        });
        let standing = match self.reach {
            Reach::Sealed => Standing {
                landlock: Some(landlock?),
                system_calls: calls.map(|()| true)?,
            },
            Reach::Reading | Reach::Tickets => Standing {
                landlock: landlock.ok(),
                system_calls: calls.is_ok(),
            },
        };
        let loading = Loading {
            reach: self.reach,
            filtered: standing.system_calls,
        };
        Ok((standing, loading))
    }
}

impl Loading {
    /// Gives up, in all threads, what only loading the sandbox needs, and hides the
    /// process's memory. Both are done already with [`Reach::Sealed`].
    ///
    /// # Errors
    /// [`SealError::Unfinished`]. The process should end then.
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

/// Hides the memory of this process from others of the same user, and from
/// programs that the kernel hands cores to, which ask no limit. The sandbox must be
/// loaded: a user cannot open their own `/proc/self/pagemap` after this.
fn hide_memory() -> Result<(), SealError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| SealError::Unfinished(error.into()))
}

/// What stands of the wall on this system. It is found out by putting it up, in a
/// thread that then ends.
pub(super) fn standing() -> Standing {
    let put_up = || {
        let none: [io::Stdin; 0] = [];
        let (standing, _) = Seal::new(Reach::Reading)?.apply_here(none)?;
        Ok::<_, SealError>(standing)
    };
    thread::Builder::new()
        .spawn(put_up)
        .ok()
        .and_then(|thread| thread.join().ok())
        .and_then(Result::ok)
        .unwrap_or_default()
}

/// The version of Landlock that holds now.
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
    // As much as there is.
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

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}
