//! Makes every system call behind each wall: the result is what the list says, and
//! docs/second-wall.md shows the list.

use crate::{
    reach::call,
    world::{Wall, World, in_a_process},
};
use keyhole_wall::{
    Rights,
    list::{CALLS, Call},
};
use libtest_mimic::{Failed, Trial};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::{env, fmt::Write as _, fs, path::Path, process::ExitCode};

/// The call numbers that are tried: all of Linux 6.18, and a hundred more.
const NUMBERS: std::ops::Range<i64> = 0..570;

/// `uretprobe` and `uprobe`, which the kernel allows whatever a filter says: points
/// in a program that root traces jump there. From anywhere else they end the process
/// or fail.
const UNFILTERED: &[i64] = if cfg!(target_arch = "x86_64") {
    &[335, 336]
} else {
    &[]
};

/// The bit that is added to try a number again in the x32 manner.
const X32: i64 = 0x4000_0000;

/// The seconds that one call may take.
const PATIENCE: u32 = 20;

pub(crate) fn trials() -> Vec<Trial> {
    let walks = [Wall::Plain, Wall::Tickets, Wall::Sealed];
    let walks = walks.map(every_call_is_answered_as_the_list_says);
    let page = Trial::test("the_page_shows_the_list", the_page_shows_the_list);
    // The page contains calls that only one architecture has.
    walks
        .into_iter()
        .chain([page.with_ignored_flag(cfg!(not(target_arch = "x86_64")))])
        .collect()
}

fn every_call_is_answered_as_the_list_says(wall: Wall) -> Trial {
    let name = format!("every_call_is_answered_as_the_list_says ({wall:?})");
    Trial::test(name, move || in_a_process("walk", wall))
}

fn rights(wall: Wall) -> Rights {
    match wall {
        Wall::Tickets => Rights::Tickets,
        Wall::Sealed => Rights::Sealed,
        _ => Rights::Read,
    }
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The filter refused it.
    Refused,
    /// The call reached the kernel.
    Allowed,
}

impl Outcome {
    fn of(result: Result<i64, i32>) -> Self {
        match result {
            Err(libc::ENOSYS) => Self::Refused,
            _ => Self::Allowed,
        }
    }

    /// The result that the list states.
    fn expected(number: i64, rights: Rights) -> Self {
        let listed = |call: &&Call| call.number == number && call.within.contains(&rights);
        match CALLS.iter().find(listed) {
            Some(_) => Self::Allowed,
            None => Self::Refused,
        }
    }
}

/// Arguments with which an allowed call passes its tests and does nothing. Other calls
/// get arguments with which they would do nothing either if the wall let them through.
fn harmless(number: i64) -> [u64; 3] {
    match number {
        libc::SYS_fcntl => [0, libc::F_GETFD as u64, 0],
        libc::SYS_madvise => [0, 0, libc::MADV_DONTNEED as u64],
        libc::SYS_prctl => [libc::PR_SET_NAME as u64, 0, 0],
        libc::SYS_tgkill => [std::process::id().into(), 0, libc::SIGABRT as u64],
        // With zeros, these calls would remove the machine's name.
        libc::SYS_sethostname | libc::SYS_setdomainname => [0, u64::MAX, 0],
        libc::SYS_acct => [1, 0, 0],
        _ => [0; 3],
    }
}

/// Tries all calls, each in a process of its own.
pub(crate) fn child(world: &World, wall: Wall) -> ExitCode {
    // A call that is let through by mistake must not reach a terminal.
    let _ = nix::unistd::setsid();
    let mut wrong = Vec::new();
    for number in NUMBERS.filter(|number| !UNFILTERED.contains(number)) {
        let outcome = tried(world, wall, number);
        let expected = Outcome::expected(number, rights(wall));
        if outcome != Ok(expected) {
            wrong.push(format!("{number}: {outcome:?} instead of {expected:?}"));
        }
    }
    println!("{wrong:#?}");
    match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn tried(world: &World, wall: Wall, number: i64) -> Result<Outcome, String> {
    // SAFETY: this process has one thread, so its child may do all that it may do.
    let forked = unsafe { fork() };
    match forked.unwrap() {
        ForkResult::Child => {
            let answer = in_child(world, wall, number);
            // `_exit` skips the usual end of a program, which would make other calls.
            // SAFETY: it ends the process, and nothing else.
            unsafe { libc::_exit(answer) }
        }
        ForkResult::Parent { child } => match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, REFUSED)) => Ok(Outcome::Refused),
            // `exit` and `exit_group` end with 0 too.
            Ok(WaitStatus::Exited(_, 0)) => Ok(Outcome::Allowed),
            // `rt_sigreturn` ends so, because there is no handler from which it
            // could return.
            Ok(WaitStatus::Signaled(_, nix::sys::signal::Signal::SIGSEGV, _))
                if number == libc::SYS_rt_sigreturn =>
            {
                Ok(Outcome::Allowed)
            }
            other => Err(format!("{other:?}")),
        },
    }
}

const REFUSED: i32 = 1;
const X32_ALLOWED: i32 = 2;

fn in_child(world: &World, wall: Wall, number: i64) -> i32 {
    // SAFETY: it sets a timer, which ends this process if a call hangs.
    unsafe { libc::alarm(PATIENCE) };
    world.put_up(wall).unwrap();
    if cfg!(target_arch = "x86_64") && call(X32 | number, &harmless(number)) != Err(libc::ENOSYS) {
        return X32_ALLOWED;
    }
    // A real thread is started, because `clone` has no arguments with which it does
    // nothing.
    if number == libc::SYS_clone {
        let thread = std::thread::Builder::new().spawn(|| ());
        return match thread.map(std::thread::JoinHandle::join) {
            Ok(Ok(())) => 0,
            _ => REFUSED,
        };
    }
    let answer = call(number, &harmless(number));
    match Outcome::of(answer) {
        Outcome::Refused => REFUSED,
        Outcome::Allowed => 0,
    }
}

const HEAD: &str = "\
# The second wall

Whatever happens to `keyhole serve`, it can make these system calls, and no others.
The top of [host/wall/src/lib.rs](../host/wall/src/lib.rs) says why this wall exists,
and what else is part of it. `./x bless` makes this page from
[list.rs](../host/wall/src/list.rs). The tests try every number of a system call,
behind each wall, and compare the answers with the list
(`sealed::walk::every_call_is_answered_as_the_list_says`).

All other calls do not exist for the process (`ENOSYS`). So a library that has another
way takes it: the C library uses `clone` instead of `clone3`, whose flags are in memory,
where no filter sees them. Two calls are never filtered by the kernel, `uretprobe` and
`uprobe`: they end the process or fail. A call by another architecture's convention ends
the process, and a call by the x32 convention is refused.

*plain* is `keyhole serve`, *tickets* is `serve --require-ticket` of the Claude Code
plugin, *sealed* is `serve --sealed`. Landlock decides which files a call can reach:
*plain* reads any file, *tickets* also deletes in the folder of tickets, *sealed*
opens only the files in the mapped files' directories.

| call | plain | tickets | sealed | on condition that | what for |
|---|---|---|---|---|---|
";

const END: &str = "
The server puts the wall up when everything is loaded, and before it reads anything from
the client. So nothing behind it needs to make machine code.

What *sealed* can still do: for any path, `statx`, `newfstatat` and `fstatfs` tell
whether it exists, what it is, its size, owner, mode and times; and `openat` with
`O_PATH` tells whether it exists. None of them can read a file's content. Landlock does
not restrict them, and the filter cannot see a path.
";

fn page() -> String {
    let mut page = String::from(HEAD);
    for call in CALLS {
        let [plain, tickets, sealed] =
            [Rights::Read, Rights::Tickets, Rights::Sealed].map(|rights| {
                match call.within.contains(&rights) {
                    true => "yes",
                    false => "",
                }
            });
        let (name, condition, why) = (call.name, call.condition, call.why);
        let _ = writeln!(
            page,
            "| `{name}` | {plain} | {tickets} | {sealed} | {condition} | {why} |"
        );
    }
    page.push_str(END);
    page
}

fn the_page_shows_the_list() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/second-wall.md");
    if env::var_os("KEYHOLE_BLESS").is_some() {
        fs::write(&path, page())?;
    }
    match fs::read_to_string(&path)? == page() {
        true => Ok(()),
        false => Err("docs/second-wall.md differs: see ./x bless".into()),
    }
}
