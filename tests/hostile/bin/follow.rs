//! How a program is started so that another one can follow it.

use nix::{
    sys::{
        ptrace::{self, Options},
        wait::waitpid,
    },
    unistd::Pid,
};
use std::{env::Args, error::Error, iter::Skip, os::unix::process::CommandExt as _, process};

/// Starts the program of these arguments, stopped before its first instruction. Each of its system
/// calls can be told from a signal, and it ends with whoever follows it. None if nobody may follow
/// a program here.
pub(crate) fn start(
    mut arguments: Skip<Args>,
    options: Options,
) -> Result<Option<Pid>, Box<dyn Error>> {
    let mut command = process::Command::new(arguments.next().ok_or("no program")?);
    command.args(arguments);
    // SAFETY: the child makes one system call here, and touches no memory.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let Ok(child) = command.spawn() else {
        return Ok(None);
    };
    let first = Pid::from_raw(i32::try_from(child.id())?);
    waitpid(first, None)?;
    let always = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(first, always | options)?;
    Ok(Some(first))
}
