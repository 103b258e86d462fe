//! What the operating system refuses: `permission-denied`, `out-of-resources` and
//! `internal`.

use super::{Earned, KEY, asking, mapped};
use keyhole::Code;
use keyhole_tests::{MARKER, World};
use std::{fs, os::unix::fs::PermissionsExt as _};

/// A file without permissions. Root may still read it, so the server must not be
/// root.
pub(super) fn earn(world: World) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let file = world.path("hunter2.md");
    fs::set_permissions(file, fs::Permissions::from_mode(0o000)).unwrap();
    asking(world.unprivileged())
}

/// A server that may have one open file fewer than a call needs. The test does not know
/// how many it needs, so it tries each limit, starting far too low: first the map's own
/// file is refused, and then the mapped one.
pub(super) fn out_of_files(world: World, code: Code) -> Earned {
    let mut world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    for most in 4..64 {
        world = world.open_files(most);
        let mut session = world.serve();
        if let Some(answer) = answer(&mut session)
            && answer.code() == Some(code.as_str())
        {
            return Earned {
                answers: vec![answer],
                session,
                world,
            };
        }
    }
    panic!("no limit on open files made a call fail");
}

/// The answer to a call. None means that the server could not start.
fn answer(session: &mut keyhole_tests::Session) -> Option<keyhole_tests::Answer> {
    session.begin();
    let id = session.call(KEY);
    loop {
        let answer = session.receive_unless_ended()?;
        if answer.message()["id"] == id {
            return Some(answer);
        }
    }
}

/// A file that cannot be opened, for a reason outside the file.
#[cfg(target_os = "linux")]
pub(super) fn failing_disk(world: World) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    asking(world.through([env!("CARGO_BIN_EXE_failing-disk")]))
}

/// A name that no file can have on this system's disks, and that the program does not
/// refuse for this reason.
#[cfg(not(target_os = "linux"))]
pub(super) fn failing_disk(world: World) -> Earned {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let world = world.map(mapped("hunter2.md"));
    asking(world.link("hunter2.md", OsStr::from_bytes(b"\xff.md")))
}
