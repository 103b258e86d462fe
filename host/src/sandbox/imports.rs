//! Everything that a guest can reach.
//!
//! Two interfaces of WASI and one of ours, and behind them one name in one open
//! directory. An interface that is not linked here does not exist for a guest: a
//! component that imports it cannot be instantiated. `files` has the answers of the
//! linked file calls.

use super::{
    bindings::{
        keyhole::context::grants,
        wasi::filesystem::{
            preopens,
            types::{
                self, DescriptorFlags, Filesize, Host as _, HostDescriptor, OpenFlags, PathFlags,
            },
        },
    },
    files::{Descriptor, Refusal},
    granted::Patience,
};
use crate::grant::Grant;
use std::time::Instant;
use subtle::ConstantTimeEq;
use wasmtime::{
    Result, StoreContextMut, StoreLimits,
    component::{HasSelf, Linker, Resource, ResourceTable, ResourceType},
};
use zeroize::Zeroizing;

/// How many functions and loops may begin before there is a call. Wasmtime's own code
/// that fills memory and tables takes three. A component's own code, which nobody has
/// called yet, is soon stopped.
const STEPS_AHEAD: u32 = 8;

/// What one call owns. It goes when the call ends.
pub(super) struct CallState {
    /// Memory, tables and instances that the guest may still take.
    pub(super) limits: StoreLimits,
    /// The one key that `find` answers to.
    key: Zeroizing<String>,
    pub(super) grant: Option<Grant>,
    /// The guest's handles.
    pub(super) table: ResourceTable,
    /// The size that the guest was told last: how long the text will be, if all is well.
    pub(super) size: u64,
    /// Whether a file call failed because of too few descriptors or too little memory.
    pub(super) out_of_resources: bool,
    /// How much longer the guest's file calls may wait.
    pub(super) patience: Patience,
    /// When the call has to end. None while there is no call.
    pub(super) deadline: Option<Instant>,
    /// How many functions and loops may still begin while there is no call.
    pub(super) steps_ahead: u32,
}

impl CallState {
    /// The state before a call: the guest can reach nothing.
    pub(super) fn new(limits: StoreLimits, handles: usize) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(handles);
        Self {
            limits,
            key: Zeroizing::default(),
            grant: None,
            table,
            size: 0,
            out_of_resources: false,
            patience: Patience::new(Instant::now()),
            deadline: None,
            steps_ahead: STEPS_AHEAD,
        }
    }

    pub(super) fn begin(&mut self, key: &str, grant: Option<Grant>, deadline: Instant) {
        self.key = Zeroizing::new(key.to_owned());
        self.grant = grant;
        self.patience = Patience::new(deadline);
        self.deadline = Some(deadline);
    }

    /// Closes what is open.
    pub(super) fn end(&mut self) {
        self.key = Zeroizing::default();
        self.grant = None;
        self.table = ResourceTable::new();
        self.deadline = None;
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.key.is_empty()
            && self.grant.is_none()
            && self.table.is_empty()
            && self.deadline.is_none()
    }
}

/// Links the imports. `wasi:io` is left out although `types` names it: the guest does
/// not stream, and a component that wants to is refused.
pub(super) fn link(linker: &mut Linker<CallState>) -> Result<()> {
    types::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    // What the embedded guest gets takes the place of the generated code, so that tests with
    // hostile components try it, too.
    linker.allow_shadowing(true);
    link_embedded(linker)
}

/// Links only what the embedded guest imports: of the file calls, those that the contract
/// grants. Each of the others would be linked at each start, and no guest can call what it
/// does not import.
pub(super) fn link_embedded(linker: &mut Linker<CallState>) -> Result<()> {
    type State<'a> = StoreContextMut<'a, CallState>;
    type Handle = Resource<Descriptor>;
    let mut files = linker.instance("wasi:filesystem/types@0.2.12")?;
    let descriptor = ResourceType::host::<Descriptor>();
    files.resource("descriptor", descriptor, |mut state, handle| {
        HostDescriptor::drop(state.data_mut(), Resource::new_own(handle))
    })?;
    files.func_wrap(
        "[method]descriptor.stat-at",
        |mut state: State<'_>, (of, follow, name): (Handle, PathFlags, String)| {
            answered(state.data_mut(), |state| state.stat_at(of, follow, name))
        },
    )?;
    files.func_wrap(
        "[method]descriptor.open-at",
        |mut state: State<'_>,
         (of, follow, name, how, rights): (
            Handle,
            PathFlags,
            String,
            OpenFlags,
            DescriptorFlags,
        )| {
            answered(state.data_mut(), |state| {
                state.open_at(of, follow, name, how, rights)
            })
        },
    )?;
    files.func_wrap(
        "[method]descriptor.stat",
        |mut state: State<'_>, (of,): (Handle,)| {
            answered(state.data_mut(), |state| HostDescriptor::stat(state, of))
        },
    )?;
    files.func_wrap(
        "[method]descriptor.read",
        |mut state: State<'_>, (of, length, from): (Handle, Filesize, Filesize)| {
            answered(state.data_mut(), |state| state.read(of, length, from))
        },
    )?;
    link_ours(linker)
}

/// Makes a file call, as the generated code does.
fn answered<A>(
    state: &mut CallState,
    call: impl FnOnce(&mut CallState) -> Result<A, Refusal>,
) -> Result<(Result<A, types::ErrorCode>,)> {
    Ok((match call(state) {
        Ok(answer) => Ok(answer),
        Err(refusal) => Err(state.convert_error_code(refusal)?),
    },))
}

fn link_ours(linker: &mut Linker<CallState>) -> Result<()> {
    preopens::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    grants::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

impl preopens::Host for CallState {
    /// The directory of the granted file, under a name that reveals nothing.
    fn get_directories(&mut self) -> Result<Vec<(Resource<Descriptor>, String)>> {
        if self.grant.is_none() {
            return Ok(Vec::new());
        }
        let handle = self.table.push(Descriptor::Preopen)?;
        Ok(vec![(handle, "/".to_owned())])
    }
}

impl grants::Host for CallState {
    fn find(&mut self, key: String) -> Result<Option<grants::Grant>> {
        let same: bool = self.key.as_bytes().ct_eq(key.as_bytes()).into();
        let grant = self.grant.as_ref().filter(|_| same);
        Ok(grant.map(|grant| grants::Grant {
            name: grant.name.clone(),
            max_bytes: grant.max_bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{CallState, grants::Host as _, preopens::Host as _};
    use crate::Grant;
    use cap_std::{ambient_authority, fs::Dir};
    use std::time::Instant;
    use wasmtime::StoreLimits;

    fn gets_nothing(state: &mut CallState) {
        // The empty key is that of no call.
        for key in ["", "k"] {
            assert!(state.find(key.to_owned()).unwrap().is_none());
        }
        assert!(state.get_directories().unwrap().is_empty());
        assert!(state.is_empty());
    }

    #[test]
    fn a_component_that_asks_before_its_call_or_after_it_gets_nothing() {
        let mut state = CallState::new(StoreLimits::default(), 16);
        gets_nothing(&mut state);
        let grant = Grant {
            directory: Dir::open_ambient_dir("/", ambient_authority()).unwrap(),
            name: "note.md".to_owned(),
            max_bytes: 64,
        };
        state.begin("k", Some(grant), Instant::now());
        assert!(state.find("k".to_owned()).unwrap().is_some());
        assert_eq!(state.get_directories().unwrap().len(), 1);
        state.end();
        gets_nothing(&mut state);
    }
}
