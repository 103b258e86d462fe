//! One instance of the component, in a store of its own, for one call.

use super::{
    bindings::{ContextLoader, ContextLoaderPre, exports::keyhole::context::loader::{LoadError, Part}},
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
    // How many bytes one call to the host, or the answer, may carry out of the guest.
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
    let mut part = loader.call_load(&mut *store, key).map_err(failed)?;
    let mut text = String::new();
    loop {
        match part {
            // The guest checks the limit, but the host does not rely on that.
            Ok(Part::More(bytes) | Part::Last(bytes))
                if (text.len() + bytes.len()) as u64 > max_bytes =>
            {
                return Err(Code::Internal);
            }
            // The same holds for UTF-8.
            Ok(Part::Last(bytes)) if text.is_empty() => {
                return String::from_utf8(bytes).map_err(|_| Code::Internal);
            }
            Ok(Part::Last(bytes)) => {
                text.push_str(str::from_utf8(&bytes).map_err(|_| Code::Internal)?);
                return Ok(text);
            }
            Ok(Part::More(bytes)) if bytes.is_empty() => return Err(Code::Internal),
            Ok(Part::More(bytes)) => {
                if text.is_empty() {
                    text.reserve_exact(usize::try_from(max_bytes).unwrap_or(0));
                }
                text.push_str(str::from_utf8(&bytes).map_err(|_| Code::Internal)?);
            }
            // The guest may have waited for the file until its deadline.
            Err(_) if is_late() => return Err(Code::TimedOut),
            Err(LoadError::Internal) if store.data().out_of_resources => {
                return Err(Code::OutOfResources);
            }
            Err(refusal) => return Err(refusal.into()),
        }
        part = loader.call_next(&mut *store).map_err(failed)?;
    }
}
