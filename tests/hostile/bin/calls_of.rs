//! `calls-of FILE PROGRAM …`: runs the program, and writes into FILE, a line each, which programs
//! it and its children start (`exec PATH`), what they open (`open PATH`), and when one of its
//! threads gives rights up (`filter`). Exits with the program's own status; and with 77 if nobody
//! may follow a program here.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod follow;

// We know how this processor passes a call's number and arguments.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod followed {
    use nix::{
        sys::{
            ptrace::{self, Options},
            signal::Signal,
            wait::{WaitPidFlag, WaitStatus, waitpid},
        },
        unistd::Pid,
    };
    use std::{collections::HashSet, env, error::Error, fs};

    pub(super) fn run() -> Result<u8, Box<dyn Error>> {
        let mut arguments = env::args().skip(1);
        let file = arguments.next().ok_or("no file")?;
        let children = Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK;
        let Some(first) = crate::follow::start(arguments, children)? else {
            return Ok(77);
        };
        ptrace::syscall(first, None)?;
        let mut inside = HashSet::new();
        let mut lines = String::new();
        loop {
            let status = waitpid(None::<Pid>, Some(WaitPidFlag::__WALL))?;
            let mut signal = None;
            match status {
                WaitStatus::Exited(one, code) if one == first => {
                    fs::write(file, lines)?;
                    return Ok(u8::try_from(code)?);
                }
                WaitStatus::Signaled(one, ..) if one == first => return Err("killed".into()),
                // A call has two stops: before it, and after it.
                WaitStatus::PtraceSyscall(one) if inside.insert(one) => lines.extend(told(one)?),
                WaitStatus::PtraceSyscall(one) => _ = inside.remove(&one),
                WaitStatus::Stopped(_, Signal::SIGSTOP | Signal::SIGTRAP) => {}
                WaitStatus::Stopped(_, other) => signal = Some(other),
                _ => {}
            }
            if let Some(one) = status.pid() {
                // It may have ended meanwhile.
                let _ = ptrace::syscall(one, signal);
            }
        }
    }

    /// The line for the call that this thread begins, if it is one of the three.
    fn told(thread: Pid) -> Result<Option<String>, Box<dyn Error>> {
        let call = ptrace::getregs(thread)?;
        Ok(match call.orig_rax.cast_signed() {
            libc::SYS_execve => Some(format!("exec {}\n", text(thread, call.rdi)?)),
            libc::SYS_execveat => Some(format!("exec {}\n", text(thread, call.rsi)?)),
            libc::SYS_open => Some(format!("open {}\n", text(thread, call.rdi)?)),
            libc::SYS_openat | libc::SYS_openat2 => {
                Some(format!("open {}\n", text(thread, call.rsi)?))
            }
            libc::SYS_seccomp => Some("filter\n".to_owned()),
            _ => None,
        })
    }

    /// The text at this address of a thread's memory, up to its NUL.
    fn text(thread: Pid, address: u64) -> Result<String, Box<dyn Error>> {
        let mut bytes = Vec::new();
        for at in (address..).step_by(8) {
            let word = ptrace::read(thread, at as ptrace::AddressType)?.to_ne_bytes();
            let end = word.iter().position(|byte| *byte == 0);
            bytes.extend_from_slice(&word[..end.unwrap_or(8)]);
            if end.is_some() {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    Ok(followed::run()?.into())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> std::process::ExitCode {
    77.into()
}
