//! Everything that a guest can reach.
//!
//! Two interfaces of WASI and one of ours, and behind them one name in one open
//! directory. An interface that is not linked here does not exist for a guest: a
//! component that imports it cannot be instantiated. `files` has the answers of the
//! linked file calls.

use super::{
    bindings::{
        keyhole::context::grants,
        wasi::filesystem::{preopens, types},
    },
    files::Descriptor,
};
use crate::{grant::Grant, refusal::Refusal};
use keyhole_walk::{System, Walker};
use std::time::Instant;
use subtle::ConstantTimeEq;
use wasmtime::{
    Result, StoreLimits,
    component::{HasSelf, Linker, Resource, ResourceTable},
};

/// What one call owns. It goes when the call ends.
pub(super) struct CallState {
    /// Memory, tables and instances that the guest may still take.
    pub(super) limits: StoreLimits,
    /// The one key that `find` answers to.
    pub(super) key: String,
    pub(super) grant: Option<Grant>,
    pub(super) walker: Walker<System>,
    /// The guest's handles.
    pub(super) table: ResourceTable,
    /// Why the last file call that failed did so, if the contract has no name for it.
    pub(super) cause: Option<Refusal>,
    /// When the call has to end.
    pub(super) deadline: Instant,
}

/// Links the imports. `wasi:io` is left out although `types` names it: the guest does
/// not stream, and a component that wants to is refused.
pub(super) fn link(linker: &mut Linker<CallState>) -> Result<()> {
    types::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
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
