//! The embedded component, unchanged, on the standard host: wasmtime-wasi as it comes, with
//! a read-only preopen of the whole directory. It must pass every case of the table that it
//! passes in our host: it is an ordinary WASI component, and needs nothing of ours but the
//! grant. What our host adds is about files that others could change, and files that are being
//! saved: this one does not wait until a file has settled, as the contract wants of a host.
#![deny(
    warnings,
    reason = "`./x interop` compiles it with clippy, `./x lint` does not"
)]
#![allow(clippy::unwrap_used, reason = "tests")]

use keyhole_cases::{Case, run_all};
use keyhole_core::sandbox::Sandbox;
use wasmtime::{
    Store,
    component::{Component, HasSelf, Linker, ResourceTable},
};
use wasmtime_wasi::{
    FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView,
    filesystem::{WasiFilesystem, WasiFilesystemView as _},
    p2::bindings::{filesystem::preopens, sync::filesystem::types},
};

/// What `bindgen!` makes of the contract without WASI. Generated: its style is not ours.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::restriction,
    reason = "generated code"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package keyhole:stock;
            world stock {
                import keyhole:context/grants@0.4.0;
                export keyhole:context/loader@0.4.0;
            }
        ",
        world: "keyhole:stock/stock",
    });
}

use bindings::{Stock, keyhole::context::grants};

/// The component as machine code for this engine.
static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.image"));

struct Call {
    case: Case,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Call {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl grants::Host for Call {
    fn find(&mut self, key: String) -> Option<grants::Grant> {
        self.case.grant_for(&key).map(|grant| grants::Grant {
            name: grant.name.clone(),
            max_bytes: grant.max_bytes,
        })
    }
}

#[test]
fn the_component_passes_every_case_on_the_standard_host() {
    let engine = Sandbox::engine().unwrap();
    // SAFETY: this crate's own build script made it.
    let component = unsafe { Component::deserialize(&engine, IMAGE) }.unwrap();
    let mut linker = Linker::<Call>::new(&engine);
    // No more than it may import: the rest of WASI is not there.
    types::add_to_linker::<_, WasiFilesystem>(&mut linker, Call::filesystem).unwrap();
    preopens::add_to_linker::<_, WasiFilesystem>(&mut linker, Call::filesystem).unwrap();
    grants::add_to_linker::<_, HasSelf<_>>(&mut linker, |call| call).unwrap();
    run_all("the standard host", |case, directory| {
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true);
        if let Some(path) = directory {
            wasi.preopened_dir(path, "/", FsPerms::ReadOnly).unwrap();
        }
        let call = Call {
            case: case.clone(),
            wasi: wasi.build(),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&engine, call);
        // It is not interrupted.
        store.set_epoch_deadline(1);
        let stock = Stock::instantiate(&mut store, &component, &linker).unwrap();
        let loader = stock.keyhole_context_loader();
        let answer = loader.call_load(&mut store, case.key()).unwrap();
        answer.map_err(|error| error.name().to_owned())
    });
}
