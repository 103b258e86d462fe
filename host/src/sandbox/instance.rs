//! One instance of the component, in a store of its own, for one call.

use super::{
    bindings::{
        ContextLoader, ContextLoaderPre,
        exports::keyhole::context::loader::{LoadError, Part},
    },
    imports::CallState,
};
use crate::{code::Code, grant::Grant, limits::Limits};
use std::time::Instant;
use wasmtime::{Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

/// What instances are made of.
type Component = ContextLoaderPre<CallState>;

/// An instance that has served no call yet.
pub(super) struct Fresh {
    store: Store<CallState>,
    guest: ContextLoader,
}

/// An instance whose call is over. It holds no file any more. All that is left to do is
/// to drop it.
pub(super) struct Used {
    store: Store<CallState>,
}

impl Used {
    /// Wipes its memory and gives its slot back.
    pub(super) fn throw_away(self) {
        drop(self.store);
    }

    /// Whether there is nothing of the call that could keep others waiting, or that
    /// the next one could find.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.store.data().is_empty()
    }
}

/// A store in which nothing is instantiated yet: nothing of any call is in it.
fn store(component: &Component, limits: Limits) -> Store<CallState> {
    let state = CallState::new(store_limits(limits), limits.handles);
    let mut store = Store::new(component.engine(), state);
    store.limiter(|state| &mut state.limits);
    store.set_max_component_handles(limits.handles);
    store.epoch_deadline_callback(|mut store| {
        let state = store.data_mut();
        Ok(match state.deadline {
            Some(deadline) if Instant::now() < deadline => UpdateDeadline::Continue(1),
            Some(_) => UpdateDeadline::Interrupt,
            None if state.steps_ahead > 0 => {
                state.steps_ahead -= 1;
                // With 0, the next function or loop asks again.
                UpdateDeadline::Continue(0)
            }
            None => UpdateDeadline::Interrupt,
        })
    });
    store
}

fn store_limits(limits: Limits) -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(limits.memory_bytes)
        .memories(1)
        .tables(limits.tables)
        .table_elements(limits.table_elements)
        .instances(limits.instances)
        .trap_on_grow_failure(true)
        .build()
}

impl Fresh {
    /// Makes an instance before there is a call for it: it has no key and no grant.
    /// Nobody watches this. So a component that runs more than a few lines of its own
    /// here is stopped, and its instance is thrown away. The call then makes another.
    pub(super) fn ahead(component: &Component, limits: Limits) -> wasmtime::Result<Self> {
        let mut store = store(component, limits);
        store.set_hostcall_fuel(limits.host_call_bytes);
        store.set_epoch_deadline(0);
        let guest = component.instantiate(&mut store)?;
        Ok(Self { store, guest })
    }

    /// Whether there is nothing of any call in it.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.store.data().is_empty()
    }
}

/// What a call brings: a key, and what the guest may reach for it.
pub(super) struct Brought<'a> {
    pub(super) key: &'a str,
    pub(super) grant: Option<Grant>,
    pub(super) deadline: Instant,
}

/// Runs one call, in `made` or else in a new instance. The caller throws the used
/// instance away, and may do so later.
pub(super) fn call(
    component: &Component,
    limits: Limits,
    made: Option<Fresh>,
    brought: Brought<'_>,
) -> (Result<String, Code>, Used) {
    let Brought {
        key,
        grant,
        deadline,
    } = brought;
    let max_bytes = grant.as_ref().map_or(0, |grant| grant.max_bytes);
    let (mut store, made) = match made {
        Some(Fresh { store, guest }) => (store, Some(guest)),
        None => (store(component, limits), None),
    };
    store.data_mut().begin(key, grant, deadline);
    // How many bytes one call to the host, or one part, may carry out of the guest.
    let bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    store.set_hostcall_fuel(bytes.saturating_add(limits.host_call_bytes));
    store.set_epoch_deadline(1);
    let answer = answer(component, &mut store, made, key, max_bytes, deadline);
    // Closing a file may take long, so this is done before anybody gets the answer.
    store.data_mut().end();
    (answer, Used { store })
}

fn answer(
    component: &Component,
    store: &mut Store<CallState>,
    made: Option<ContextLoader>,
    key: &str,
    max_bytes: u64,
    deadline: Instant,
) -> Result<String, Code> {
    let is_late = || Instant::now() >= deadline;
    let failed = |_| match is_late() {
        true => Code::TimedOut,
        false => Code::Internal,
    };
    // The deadline and its interrupt may already have passed, and no other interrupt
    // may follow.
    if is_late() {
        return Err(Code::TimedOut);
    }
    let guest = match made {
        Some(guest) => guest,
        None => component.instantiate(&mut *store).map_err(failed)?,
    };
    let loader = guest.keyhole_context_loader();
    let mut came = Came::nothing();
    let mut part = loader.call_load(&mut *store, key);
    loop {
        let (bytes, is_last) = match part.map_err(failed)? {
            Ok(Part::More(bytes)) => (bytes, false),
            Ok(Part::Last(bytes)) => (bytes, true),
            // The guest may have waited for the file until its deadline.
            Err(_) if is_late() => return Err(Code::TimedOut),
            Err(LoadError::Internal) if store.data().out_of_resources => {
                return Err(Code::OutOfResources);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let expected = store.data().size;
        came.add(bytes, is_last, expected, max_bytes)
            .ok_or(Code::Internal)?;
        if is_last {
            return match came.text() {
                Err(_) if is_late() => Err(Code::TimedOut),
                text => text,
            };
        }
        part = loader.call_next(&mut *store);
    }
}

/// The parts of a file that have come, put together.
struct Came {
    /// None if a part was not text.
    text: Option<String>,
    /// How much came, whether it is text or not.
    length: usize,
}

impl Came {
    fn nothing() -> Self {
        Self {
            text: Some(String::new()),
            length: 0,
        }
    }

    /// Puts a part behind the others. None if it breaks the contract: all of it may not be
    /// longer than `max_bytes`, and only the last may be empty, so that each other one makes
    /// it longer. The guest sees to this, but the host does not rely on that.
    ///
    /// Only the host checks whether each part is UTF-8. A part that is not may be a mix of two
    /// versions of the file. So the rest is read first: the guest may then say `changed`.
    fn add(&mut self, bytes: Vec<u8>, is_last: bool, expected: u64, max_bytes: u64) -> Option<()> {
        self.length = self.length.checked_add(bytes.len())?;
        if self.length as u64 > max_bytes || (bytes.is_empty() && !is_last) {
            return None;
        }
        let Some(text) = &mut self.text else {
            return Some(());
        };
        if is_last && text.is_empty() {
            // All of it at once: no copy.
            self.text = String::from_utf8(bytes).ok();
            return Some(());
        }
        let Ok(part) = str::from_utf8(&bytes) else {
            self.text = None;
            return Some(());
        };
        if text.is_empty() {
            let expected = usize::try_from(expected.min(max_bytes)).ok()?;
            text.try_reserve_exact(expected).ok()?;
        }
        text.push_str(part);
        Some(())
    }

    /// The text, when the last part has come.
    fn text(self) -> Result<String, Code> {
        self.text.ok_or(Code::NotUtf8)
    }
}

#[cfg(test)]
mod tests {
    use super::Came;
    use crate::code::Code;

    /// None if a part breaks the contract.
    fn all(parts: &[&[u8]], max_bytes: u64) -> Option<Result<String, Code>> {
        let mut came = Came::nothing();
        for (at, part) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            came.add(part.to_vec(), is_last, 4, max_bytes)?;
        }
        Some(came.text())
    }

    fn text(text: &str) -> Option<Result<String, Code>> {
        Some(Ok(text.to_owned()))
    }

    #[test]
    fn parts_are_one_text_if_each_is_text_and_all_are_within_the_limit() {
        for parts in [
            &[&b"abcd"[..]][..],
            &[b"abcd", b""],
            &[b"a", b"bcd"],
            &[b"a", b"b", b"c", b"d"],
        ] {
            assert_eq!(all(parts, 4), text("abcd"), "{parts:?}");
            assert_eq!(all(parts, u64::MAX), text("abcd"), "{parts:?}");
            assert_eq!(all(parts, 3), None, "{parts:?}");
        }
        assert_eq!(all(&[b""], 0), text(""));
        // Longer than the host expected.
        assert_eq!(all(&[b"abc", b"def"], 6), text("abcdef"));
    }

    #[test]
    fn an_empty_part_that_is_not_the_last_is_refused() {
        for parts in [
            &[&b""[..], b"a"][..],
            &[b"a", b"", b"b"],
            &[b"\xff", b"", b"b"],
        ] {
            assert_eq!(all(parts, 64), None, "{parts:?}");
        }
    }

    #[test]
    fn a_part_that_is_no_text_makes_all_of_it_no_text() {
        for parts in [
            &[&b"\xff"[..]][..],
            &[b"\xc3", b"\xa9"],
            &[b"a\xc3", b"\xa9"],
            &[b"a", b"\xff"],
            &[b"a", b"\xff", b"b"],
            &[b"\xff", b"a", b"b"],
            &[b"\xff", b""],
        ] {
            let refused = Some(Err(Code::NotUtf8));
            assert_eq!(all(parts, 64), refused, "{parts:?}");
            // The limit is for what is no text, too.
            let length = parts.concat().len() as u64;
            assert_eq!(all(parts, length), refused, "{parts:?}");
            assert_eq!(all(parts, length - 1), None, "{parts:?}");
        }
    }
}
