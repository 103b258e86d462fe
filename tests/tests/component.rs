//! What the component may import, and what is never opened for it.

use crate::docs::is_committed;
use keyhole_core::sandbox::COMPONENT;
use std::collections::BTreeSet;
use wit_component::{DecodedWasm, WitPrinter, decode};
use wit_parser::WorldKey;

/// Everything that the component may import. From the clock it imports only a type:
/// that of a file's modification time.
const IMPORTS: [&str; 4] = [
    "keyhole:context/grants@0.4.0",
    "wasi:filesystem/preopens@0.2.12",
    "wasi:filesystem/types@0.2.12",
    "wasi:clocks/wall-clock@0.2.12",
];
const EXPORTS: [&str; 1] = ["keyhole:context/loader@0.4.0"];
/// The largest size that the component may have, in bytes.
const LARGEST: usize = 40 * 1024;

/// Opening a device, or a FIFO that somebody writes to, may have an effect.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_regular_file_is_not_even_opened() {
    use crate::{hostile::ground::fifo, opens::Opens};
    use std::fs::File;

    let world = keyhole_tests::World::new().map("[keys]\nk = '~/fifo.md'\n");
    let path = world.path("fifo.md");
    fifo(&path);
    let opens = Opens::of(&path);
    let mut client = world.client();
    client.load("k").refused("not-a-file");
    assert!(!opens.any());
    // This shows that the watch would report an open.
    drop(File::options().read(true).write(true).open(&path).unwrap());
    assert!(opens.any());
    client.end();
}

/// What the component imports and exports, read from its bytes.
fn described() -> String {
    let decoded = decode(COMPONENT).unwrap();
    let main = decoded.package();
    let packages = decoded.resolve().packages.iter().map(|(id, _)| id);
    let others: Vec<_> = packages.filter(|id| *id != main).collect();
    let mut printer = WitPrinter::default();
    printer
        .emit_docs(false)
        .print(decoded.resolve(), main, &others)
        .unwrap();
    printer.output.into()
}

#[test]
fn the_committed_listing_is_what_the_component_has() {
    is_committed("guest/component.wit", &described());
}

#[test]
fn the_component_imports_what_it_must_and_nothing_else() {
    let DecodedWasm::Component(resolve, world) = decode(COMPONENT).unwrap() else {
        panic!("not a component");
    };
    let world = &resolve.worlds[world];
    let name = |key: &WorldKey| resolve.name_world_key(key);
    let imports: BTreeSet<_> = world.imports.keys().map(name).collect();
    let exports: BTreeSet<_> = world.exports.keys().map(name).collect();
    assert_eq!(imports, IMPORTS.map(str::to_owned).into());
    assert_eq!(exports, EXPORTS.map(str::to_owned).into());
    for (_, interface) in &resolve.interfaces {
        if interface.name.as_deref() == Some("wall-clock") {
            assert!(interface.functions.is_empty(), "{:?}", interface.functions);
        }
    }
}

#[test]
fn the_component_is_small() {
    assert!(COMPONENT.len() <= LARGEST, "{} bytes", COMPONENT.len());
}
