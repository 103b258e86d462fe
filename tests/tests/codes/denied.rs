//! What the operating system refuses, or would let others do: `permission-denied`,
//! `untrusted`, `out-of-resources` and `internal`.

use super::{Client, Earned, Surface, asking, mapped};
use keyhole_core::Code;
use keyhole_tests::{Answer, MARKER, World};

/// A file without permissions. Root may still read it, so the server must not be
/// root.
pub(super) fn earn(surface: Surface, world: World) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    world.mode("hunter2.md", 0o000);
    asking(surface, surface.of(world).unprivileged())
}

/// A file that others may write to.
pub(super) fn open_to_others(surface: Surface, world: World) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    world.mode("hunter2.md", 0o666);
    asking(surface, surface.of(world))
}

/// A server that may have one open file fewer than a call needs. The test does not know
/// how many it needs, so it tries each limit, starting far too low: first the map's own
/// file is refused, and then the mapped one.
pub(super) fn out_of_files(surface: Surface, world: World, code: Code) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let mut world = surface.of(world);
    for most in 4..64 {
        world = world.after(&format!("ulimit -n {most}"));
        let mut client = Client {
            session: world.serve(),
            surface,
            world,
            calls: most,
        };
        if let Some(answer) = answer(&mut client)
            && answer.code() == Some(code.as_str())
        {
            return (client, vec![answer]);
        }
        world = client.world;
    }
    panic!("no limit on open files made a call fail");
}

/// The answer to a call. None means that the server could not start.
fn answer(client: &mut Client) -> Option<Answer> {
    client.session.begin();
    let id = client.call();
    loop {
        let answer = client.session.receive_unless_ended()?;
        if answer.message()["id"] == id {
            return Some(answer);
        }
    }
}

/// A file that cannot be opened, for a reason outside the file.
#[cfg(target_os = "linux")]
pub(super) fn failing_disk(surface: Surface, world: World) -> Earned {
    let world = world.file("hunter2.md", MARKER).map(mapped("hunter2.md"));
    let world = surface.of(world);
    asking(surface, world.through([env!("CARGO_BIN_EXE_failing-disk")]))
}

/// A name that no file can have on this system's disks, and that the program does not
/// refuse for this reason.
#[cfg(not(target_os = "linux"))]
pub(super) fn failing_disk(surface: Surface, world: World) -> Earned {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let world = world.map(mapped("hunter2.md"));
    let world = world.link("hunter2.md", OsStr::from_bytes(b"\xff.md"));
    asking(surface, surface.of(world))
}
