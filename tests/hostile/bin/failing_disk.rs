//! `failing-disk PROGRAM …`: becomes the program. There, each question what a mapped name is
//! fails as on a disk with a fault (`EIO`). The filter knows the question by what it asks for:
//! the type alone, which the program asks of nothing else. This checks that it really fails.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use keyhole_tests::fail_calls;
    use rustix::{
        fs::{AtFlags, CWD, StatxFlags, statx},
        io::Errno,
    };
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
    use std::{env, os::unix::process::CommandExt as _, process::Command};

    let type_alone = SeccompCondition::new(
        3,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        StatxFlags::TYPE.bits().into(),
    )?;
    let rule = SeccompRule::new(vec![type_alone])?;
    fail_calls([(libc::SYS_statx, vec![rule])], Errno::IO);
    let asked = statx(CWD, ".", AtFlags::empty(), StatxFlags::TYPE);
    if asked.err() != Some(Errno::IO) {
        return Err("asking still works".into());
    }
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().ok_or("no program")?;
    Err(Command::new(program).args(arguments).exec().into())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    Err("only Linux has such filters".into())
}
