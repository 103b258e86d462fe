//! What is broken on purpose, to see that the tests find it: in which file, which code,
//! and what replaces it while the switch of that name is on.

/// A broken variant.
pub struct Break {
    pub name: &'static str,
    pub file: &'static str,
    pub good: &'static str,
    pub bad: &'static str,
}

/// A value that always differs from the host's.
pub struct Setting {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// These make the third request wait for room, not the thousandth.
pub const SETTINGS: &[Setting] = &[Setting {
    file: "mcp/transport.rs",
    from: "const MIN_REQUEST_BYTES: u32 = 2048;",
    to: "const MIN_REQUEST_BYTES: u32 = MAX_IN_FLIGHT_BYTES / 2;",
}];

const fn broken(
    name: &'static str,
    file: &'static str,
    good: &'static str,
    bad: &'static str,
) -> Break {
    Break {
        name,
        file,
        good,
        bad,
    }
}

pub const BREAKS: &[Break] = &[
    // Gates.
    broken(
        "a gate stays when all have left",
        "gates.rs",
        "gates.remove(&self.id.0);",
        "",
    ),
    broken(
        "who left counts as being in",
        "gates.rs",
        "gate.inside.retain(|(inside, _)| inside != number);",
        "let _ = number;",
    ),
    broken(
        "who waits never asks whether those inside hang",
        "gates.rs",
        "self.hangs(id)",
        "false",
    ),
    broken(
        "who gives up waiting is still present",
        "gates.rs",
        "gate.present -= 1;",
        "if self.slot.is_some() { gate.present -= 1; }",
    ),
    // GuessThrottle.
    broken(
        "a guess is counted after the lock was released",
        "guesses.rs",
        "bucket.out += 1;",
        "drop(bucket); self.lock().out += 1;",
    ),
    broken(
        "a wrong guess costs nothing",
        "guesses.rs",
        "self.wrong = true;",
        "self.wrong = false;",
    ),
    broken(
        "a guess that came back wakes nobody",
        "guesses.rs",
        "self.of.given_back.notify_one();",
        "",
    ),
    broken(
        "a guess never comes back",
        "guesses.rs",
        "bucket.out -= 1;",
        "if self.wrong { bucket.out -= 1; }",
    ),
    // Threads.
    broken(
        "a job is left to a thread that another job woke",
        "threads.rs",
        "state.jobs.len() <= state.coming",
        "state.coming > 0",
    ),
    broken(
        "a thread ends although there is a job",
        "threads.rs",
        "waited.timed_out() && !coming && state.threads > 1",
        "waited.timed_out()",
    ),
    broken(
        "a thread that has come is still expected",
        "threads.rs",
        "state.coming -= usize::from(coming);",
        "",
    ),
    broken(
        "a thread that was refused leaves its job behind",
        "threads.rs",
        "spawned.is_err().then(|| state.jobs.pop_back())",
        "None::<Option<Job>>",
    ),
    broken(
        "a pool that is dropped does not say so",
        "threads.rs",
        "state.closed = true;",
        "",
    ),
    // The loader and its watch.
    broken(
        "the permit of a call that nobody wants is lost",
        "watch.rs",
        "drop(tell.send(with_permit(ran, call_permit)));\n            return;",
        "std::mem::forget(tell.send(with_permit(ran, call_permit))); return;",
    ),
    broken(
        "a slow call keeps its first permit too",
        "watch.rs",
        "call_permit = slow;",
        "std::mem::forget(std::mem::replace(&mut call_permit, slow));",
    ),
    broken(
        "a slow call never returns its permit",
        "watch.rs",
        "!is_slow",
        "false",
    ),
    broken(
        "a late call is not stopped",
        "watch.rs",
        "(self.interrupt)();",
        "",
    ),
    broken(
        "a late call is not answered",
        "watch.rs",
        "drop(tell.send(Outcome::Done(Err(Code::TimedOut))));",
        "std::mem::forget(tell);",
    ),
    broken(
        "a ticket is asked for again after a wait",
        "loader.rs",
        "&mut call.agent",
        "{ call.agent = None; &mut call.agent }",
    ),
    broken(
        "a file is read without a permit",
        "loader.rs",
        "self.enter(&mut call.file, self.files.id_of(entry.path()))?;",
        "",
    ),
    // Requests in flight.
    broken(
        "a cancelled request is answered",
        "mcp/pending.rs",
        "table.requests.remove(&number);",
        "",
    ),
    broken(
        "the memory of a cancelled request is lost",
        "mcp/pending.rs",
        "table.requests.remove(&number);",
        "std::mem::forget(table.requests.remove(&number));",
    ),
    broken(
        "an id is known by itself, not by a number of ours",
        "mcp/pending.rs",
        "table.last = table.last.wrapping_add(1);",
        "if let RequestId::Number(id) = &id { table.last = *id; }",
    ),
    broken(
        "an id that was answered is still in use",
        "mcp/pending.rs",
        "table.numbers.remove(&request.id);",
        "",
    ),
    broken(
        "an answer that waits for another cannot be cancelled",
        "mcp/transport.rs",
        "let mut out = out.lock().await;",
        "if let ServerJsonRpcMessage::Response(response) = &mut message {
            let Some(request) = pending.finish(&response.id) else { return Ok(()) };
            response.id = request.id.clone();
            return out.lock().await.write(&message).await;
        }
        let mut out = out.lock().await;",
    ),
    // Tickets.
    broken(
        "a ticket is good although another removed it",
        "ticket/unix.rs",
        "rustix::fs::unlinkat(folder, name, AtFlags::empty()).ok()?;",
        "let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());",
    ),
    broken(
        "a ticket is written over another",
        "ticket/unix.rs",
        "OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW",
        "OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW",
    ),
    // The lazy start.
    broken(
        "a sandbox that is ready counts as failed",
        "sandbox/lazy.rs",
        "Box::new(failed)",
        "Box::new(drop(failed))",
    ),
    broken(
        "an interrupt waits for the sandbox",
        "sandbox/lazy.rs",
        "self.0.get()",
        "Some(self.0.wait())",
    ),
    broken(
        "a load that failed says nothing",
        "sandbox/lazy.rs",
        "drop(failed.send(error))",
        "{ drop(error); std::mem::forget(failed) }",
    ),
];
