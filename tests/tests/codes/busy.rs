//! `busy`: more calls than are allowed to wait.

use super::{Earned, KEY, mapped};
use keyhole_tests::World;
use serde_json::json;

/// More calls than may run and wait: see `keyhole::limits`.
const CALLS: usize = 400;
/// Makes each request so long that the pipe to the server cannot hold them: once all
/// are sent, the server has read all but the last 64 KiB, some 30 of them.
const PADDING: usize = 2000;

/// Sends the calls and reads no answer until all are sent. The documents are larger
/// than the pipe back, so no call can finish and release its permit to another.
pub(super) fn earn(world: World) -> Earned {
    let world = world
        .file("hunter2.md", "hunter2 ".repeat(1 << 16))
        .map(mapped("hunter2.md"));
    let mut session = world.client();
    let ids: Vec<u64> = (0..CALLS)
        .map(|_| {
            session.ask(
                "tools/call",
                json!({
                    "name": "load_context",
                    "arguments": { "key": KEY },
                    "_meta": { "padding": "x".repeat(PADDING) },
                }),
            )
        })
        .collect();
    let answers = ids.into_iter().map(|id| session.answer(id)).collect();
    Earned {
        world,
        session,
        answers,
    }
}
