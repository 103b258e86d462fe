//! `without-openat2 PROGRAM …`: becomes the program. For it, the kernel has no `openat2`,
//! as before Linux 5.6 and in some containers. This checks that the call really fails,
//! so that no test is skipped in silence.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use keyhole_tests::fail_calls;
    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    use std::{env, os::unix::process::CommandExt as _, process::Command};

    fail_calls([(libc::SYS_openat2, vec![])], Errno::NOSYS);
    let opened = openat2(
        CWD,
        ".",
        OFlags::RDONLY,
        Mode::empty(),
        ResolveFlags::empty(),
    );
    if opened.err() != Some(Errno::NOSYS) {
        return Err("openat2 is still there".into());
    }
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().ok_or("no program")?;
    Err(Command::new(program).args(arguments).exec().into())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    Err("only Linux has openat2".into())
}
