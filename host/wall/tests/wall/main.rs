//! The wall: what a process behind it tries, and cannot do.
//!
//! `attempts` and `reach` make system calls from behind the wall, each in a process
//! of its own (`world`), which is this program started again. `walk` makes every system
//! call. `process` is about when there is a wall. tests/tests/wall.rs tests the real
//! program.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests"
)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod reach;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod world;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Ok(title) = std::env::var(world::ATTEMPT) {
        world::make(&title);
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, trials()).exit_code()
}

#[cfg(target_os = "linux")]
fn trials() -> Vec<Trial> {
    let stands = kernel_has_all();
    if !stands {
        eprintln!("skipped: all tests of the wall (this kernel lacks a part of it)");
    }
    let trials = world::trials().into_iter();
    trials
        .map(|trial| trial.with_ignored_flag(!stands))
        .collect()
}

/// Whether the kernel has what these tests need: Landlock as in Linux 6.7. This asks the kernel, not the code under
/// test: if that said by mistake that there is no wall, all its tests would be ignored.
#[cfg(target_os = "linux")]
fn kernel_has_all() -> bool {
    use landlock::RulesetAttr as _;
    use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset};
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V4))
        .and_then(Ruleset::create);
    rules.is_ok() && std::fs::exists("/proc/sys/kernel/seccomp").is_ok_and(|has| has)
}

#[cfg(not(target_os = "linux"))]
fn trials() -> Vec<Trial> {
    vec![Trial::test("elsewhere_than_on_linux_there_is_none", || {
        use keyhole_wall::{Rights, WallStatus, restrict_process};
        let look = || (Some(vec![()]), ());
        let (status, ()) = restrict_process(Rights::Read, None, look).unwrap();
        assert_eq!(status, WallStatus::default());
        Ok(())
    })]
}
