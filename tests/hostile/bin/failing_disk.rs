//! `failing-disk PROGRAM …`: becomes the program. There, each `open` of a mapped file
//! fails as on a disk with a fault (`EIO`). The filter knows it by `O_NOATIME`, with which
//! the program opens nothing else. This checks that the call really fails.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use keyhole_tests::fail_calls;
    use rustix::{
        fs::{CWD, Mode, OFlags, openat},
        io::Errno,
    };
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
    use std::{env, os::unix::process::CommandExt as _, process::Command};

    let flag = u64::from(OFlags::NOATIME.bits());
    let has_flag = SeccompCondition::new(
        2,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(flag),
        flag,
    )?;
    let rules = [
        (libc::SYS_openat, vec![SeccompRule::new(vec![has_flag])?]),
        // Its flags are in memory, where no filter can see them.
        (libc::SYS_openat2, vec![]),
    ];
    fail_calls(rules, Errno::IO);
    let opened = openat(CWD, ".", OFlags::RDONLY | OFlags::NOATIME, Mode::empty());
    if opened.err() != Some(Errno::IO) {
        return Err("opening still works".into());
    }
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().ok_or("no program")?;
    Err(Command::new(program).args(arguments).exec().into())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    Err("only Linux has such filters".into())
}
