//! `kill-at NUMBER PROGRAM …`: runs the program, and kills it before one of the system calls
//! by which its first thread changes files: the one with this number, from 0. Exits with 137
//! then; with the program's own status if it ends before; and with 77 if nobody may follow a
//! program here.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod follow;

// We know how this processor passes a call's number and arguments.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    use nix::sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitStatus, waitpid},
    };
    use std::{collections::BTreeSet, env};

    const CHANGES: [i64; 15] = [
        libc::SYS_chmod,
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchown,
        libc::SYS_fsync,
        libc::SYS_ftruncate,
        libc::SYS_link,
        libc::SYS_mkdir,
        libc::SYS_mkdirat,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_rmdir,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
    ];
    let mut arguments = env::args().skip(1);
    let mut left: u32 = arguments.next().ok_or("no number")?.parse()?;
    let Some(child) = follow::start(arguments, Options::empty())? else {
        return Ok(77.into());
    };
    let (mut is_inside, mut signal) = (false, None);
    // The descriptors of files that it has made.
    let mut made = BTreeSet::new();
    loop {
        ptrace::syscall(child, signal.take())?;
        match waitpid(child, None)? {
            WaitStatus::PtraceSyscall(_) => is_inside = !is_inside,
            WaitStatus::Exited(_, status) => return Ok(u8::try_from(status)?.into()),
            WaitStatus::Stopped(_, other) => {
                signal = Some(other);
                continue;
            }
            other => return Err(format!("{other:?}").into()),
        }
        let call = ptrace::getregs(child)?;
        let number = call.orig_rax.cast_signed();
        let makes = number == libc::SYS_openat && call.rdx & libc::O_CREAT as u64 != 0;
        let writes = number == libc::SYS_write && made.contains(&call.rdi);
        if !is_inside {
            made.extend(makes.then_some(call.rax));
        } else if makes || writes || CHANGES.contains(&number) {
            if left == 0 {
                kill(child, Signal::SIGKILL)?;
                waitpid(child, None)?;
                return Ok(137.into());
            }
            left -= 1;
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> std::process::ExitCode {
    77.into()
}
