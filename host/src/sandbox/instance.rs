//! One instance of the component, in a store of its own, for one call.

use super::{
    bindings::{ContextLoader, ContextLoaderPre, exports::keyhole::context::loader::LoadError},
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

/// An instance whose call is over. It holds no file any more, and is only dropped.
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
                // So that it is asked again at the next one.
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
    /// Makes one before there is a call for it: it has no key and no grant. Nobody
    /// watches this, so a component that runs more than a few lines of its own then is
    /// stopped, and thrown away. It gets an instance when it is called.
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

/// What a call brings: a key, and all there is to be had for it.
pub(super) struct Brought<'a> {
    pub(super) key: &'a str,
    pub(super) grant: Option<Grant>,
    pub(super) deadline: Instant,
}

/// Runs one call, in `made` or else in a new instance. What is left of that is only to
/// be thrown away, which may be done later.
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
    // What one call to the host, or the answer, may carry out of the guest.
    let bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    store.set_hostcall_fuel(bytes.saturating_add(limits.host_call_bytes));
    store.set_epoch_deadline(1);
    let answer = answer(component, &mut store, made, key, max_bytes, deadline);
    // A file that takes long to close is closed before anybody is told.
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
    // It may be late already, with its interrupt behind it: another is not sure to
    // come.
    if is_late() {
        return Err(Code::TimedOut);
    }
    let guest = match made {
        Some(guest) => guest,
        None => component.instantiate(&mut *store).map_err(failed)?,
    };
    let answer = guest
        .keyhole_context_loader()
        .call_load(&mut *store, key)
        .map_err(failed)?;
    match answer {
        // The guest was told the limit; the host does not take its word for it.
        Ok(bytes) if bytes.len() as u64 > max_bytes => Err(Code::Internal),
        // Nor for this.
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| Code::Internal),
        // It may have waited for the file until then.
        Err(_) if is_late() => Err(Code::TimedOut),
        Err(LoadError::Internal) if store.data().out_of_resources => Err(Code::OutOfResources),
        Err(refusal) => Err(refusal.into()),
    }
}
