//! All that a guest can reach.
//!
//! Two interfaces of WASI and one of ours, and behind them one open directory.
//! What is not linked here does not exist for a guest: a component that imports
//! it cannot be instantiated.

use super::bindings::keyhole::context::grants;
use crate::Grant;
use subtle::ConstantTimeEq;
use wasmtime::{
    Result, StoreLimits,
    component::{HasSelf, Linker, Resource, ResourceTable},
};
use wasmtime_wasi::{
    FsPerms, WasiCtxBuilder,
    filesystem::{
        Descriptor, Dir, OpenMode, WasiFilesystem, WasiFilesystemCtx, WasiFilesystemCtxView,
    },
    p2::bindings::{filesystem::preopens, sync::filesystem::types},
};

/// What one call owns. It goes when the call ends.
pub(super) struct CallState {
    /// Memory, tables and instances that the guest may still take.
    pub(super) limits: StoreLimits,
    /// The one key that `find` answers to.
    key: String,
    grant: Option<grants::Grant>,
    preopen: Option<Dir>,
    /// The guest's handles.
    table: ResourceTable,
    /// Holds no directory: `preopen` is handed out by us.
    filesystem: WasiFilesystemCtx,
}

impl CallState {
    pub(super) fn new(
        key: &str,
        grant: Option<Grant>,
        filesystem: WasiFilesystemCtx,
        limits: StoreLimits,
        handles: usize,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(handles);
        let (grant, preopen) = grant
            .map(
                |Grant {
                     directory,
                     name,
                     max_bytes,
                 }| {
                    // Blocking is right: every call has a thread of its own.
                    let directory = directory.into_std_file();
                    let dir = Dir::new(directory, FsPerms::ReadOnly, OpenMode::READ, true);
                    (grants::Grant { name, max_bytes }, dir)
                },
            )
            .unzip();
        Self {
            limits,
            key: key.to_owned(),
            grant,
            preopen,
            table,
            filesystem,
        }
    }

    fn filesystem(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: &mut self.filesystem,
            table: &mut self.table,
        }
    }
}

/// A file system context that holds no directory. File calls run on the thread
/// that makes them: every call has one of its own.
pub(super) fn no_filesystem() -> WasiFilesystemCtx {
    let mut context = WasiCtxBuilder::new();
    context.allow_blocking_current_thread(true);
    context.build().filesystem().clone()
}

/// Links what there is to import. `wasi:io` is left out although `types` names
/// it: the guest does not stream, and a component that wants to is refused.
pub(super) fn link(linker: &mut Linker<CallState>) -> Result<()> {
    types::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    preopens::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    grants::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

impl preopens::Host for CallState {
    /// The directory of the granted file, under a name that tells nothing.
    fn get_directories(&mut self) -> Result<Vec<(Resource<Descriptor>, String)>> {
        let Some(directory) = &self.preopen else {
            return Ok(Vec::new());
        };
        let handle = self.table.push(Descriptor::Dir(directory.clone()))?;
        Ok(vec![(handle, "/".to_owned())])
    }
}

impl grants::Host for CallState {
    fn find(&mut self, key: String) -> Option<grants::Grant> {
        let same: bool = self.key.as_bytes().ct_eq(key.as_bytes()).into();
        self.grant.clone().filter(|_| same)
    }
}
