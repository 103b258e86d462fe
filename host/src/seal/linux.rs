//! The seal on Linux: Landlock for files and TCP, seccomp for what it leaves open.

use super::{SealError, calls};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use seccompiler::BpfProgram;
use std::{fmt, fs, os::fd::AsFd};

/// What is asked of Landlock: every right over files that this version knows,
/// and TCP, which is new in it. Later ones add nothing that is not refused by
/// `calls` already.
const LANDLOCK: ABI = ABI::V4;

/// A seal that is ready, so that it is known to hold on this kernel.
pub struct Seal {
    rules: RulesetCreated,
    calls: BpfProgram,
}

impl Seal {
    /// Prepares a seal. Nothing is given away yet.
    ///
    /// # Errors
    /// [`SealError::Landlock`] and [`SealError::Seccomp`], where the kernel cannot
    /// do all that is asked of it.
    pub fn new() -> Result<Self, SealError> {
        Ok(Self {
            rules: rules().map_err(refused)?,
            calls: calls::filter().map_err(|error| SealError::Seccomp(error.into()))?,
        })
    }

    /// Gives up every right over files but reading those in `directories`, which
    /// may be opened with `O_PATH`, and every system call of `calls`. It holds for
    /// this thread and those it starts, and cannot be undone.
    ///
    /// # Errors
    /// [`SealError`]. Rights may be gone already then, so the process should end.
    pub fn apply<D: AsFd>(self, directories: impl IntoIterator<Item = D>) -> Result<(), SealError> {
        let threads = fs::read_dir("/proc/self/task").map_err(|_| SealError::NotAlone)?;
        if threads.count() != 1 {
            return Err(SealError::NotAlone);
        }
        let status = restrict(self.rules, directories).map_err(refused)?;
        if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
            return Err(SealError::Landlock("it was enforced in part only".into()));
        }
        seccompiler::apply_filter(&self.calls).map_err(|error| SealError::Seccomp(error.into()))
    }
}

/// Sets `no_new_privs` as well.
fn restrict<D: AsFd>(
    mut rules: RulesetCreated,
    directories: impl IntoIterator<Item = D>,
) -> Result<RestrictionStatus, RulesetError> {
    for directory in directories {
        rules = rules.add_rule(PathBeneath::new(directory, AccessFs::ReadFile))?;
    }
    rules.restrict_self()
}

fn rules() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .create()
}

fn refused(error: RulesetError) -> SealError {
    SealError::Landlock(error.into())
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}
