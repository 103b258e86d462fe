//! `busy`: more calls than are allowed to wait.

use super::{Client, Earned, Surface, mapped};
use keyhole_tests::World;

/// More calls than may run and wait: see `keyhole_core::limits`.
const CALLS: usize = 400;
/// Makes each request so long that the pipe to the server cannot hold them: once all
/// are sent, the server has read all but the last 64 KiB, some 30 of them.
const PADDING: usize = 2000;

/// Sends the calls and reads no answer until all are sent. The documents are larger
/// than the pipe back, so no call can finish and release its permit to another.
pub(super) fn earn(surface: Surface, world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2 ".repeat(62_000))
        .map(mapped("hunter2.md"));
    let mut client = Client::of(surface, surface.of(world));
    let ids: Vec<u64> = (0..CALLS)
        .map(|_| {
            let mut params = client.params();
            params["_meta"]["padding"] = "x".repeat(PADDING).into();
            client.session.ask("tools/call", params)
        })
        .collect();
    let answers = ids
        .into_iter()
        .map(|id| client.session.answer(id))
        .collect();
    (client, answers)
}
