//! The guest's one table of cases, through the embedded component, and what the
//! component may import.

use cap_std::fs::Dir;
use keyhole::{
    Code, Grant,
    limits::Limits,
    sandbox::{COMPONENT, COMPONENT_WIT, Sandbox},
};
use keyhole_cases::{Case, run_all};
use keyhole_tests::workspace;
use std::{
    env, fs,
    fs::File,
    path::Path,
    time::{Duration, Instant},
};
use wit_component::{DecodedWasm, WitPrinter, decode};

/// All that the component may import. From the clock it imports only a type, that of
/// a file's modification time.
const IMPORTS: [&str; 4] = [
    "keyhole:context/grants@0.2.0",
    "wasi:filesystem/preopens@0.2.12",
    "wasi:filesystem/types@0.2.12",
    "wasi:clocks/wall-clock@0.2.12",
];
const EXPORTS: [&str; 1] = ["keyhole:context/loader@0.2.0"];
/// The largest size that the component may have, in bytes.
const LARGEST: usize = 40 * 1024;

#[test]
fn the_embedded_component_passes_every_case() {
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    run_all("the embedded component", |case, directory| {
        let grant = grant(case, directory);
        let deadline = Instant::now() + Duration::from_secs(60);
        sandbox
            .call(case.key(), grant, deadline)
            .map_err(|code| code.as_str().to_owned())
    });
}

/// The grant that the host would give in this case.
///
/// The host answers `find` only for the key of the call. So if the table has a
/// grant for another key, this call has none; and without a grant there is no
/// directory. Every case with an answer shows that the guest asks for its own key.
fn grant(case: &Case, directory: Option<&Path>) -> Option<Grant> {
    let granted = case.grant_for(case.key())?;
    let directory = match directory {
        Some(path) => open(path),
        // This host's types do not allow a grant without a directory. The
        // closest case is a directory that was removed.
        None => {
            let gone = tempfile::tempdir().unwrap();
            open(gone.path())
        }
    };
    Some(Grant {
        directory,
        name: granted.name.clone(),
        max_bytes: granted.max_bytes,
    })
}

fn open(path: &Path) -> Dir {
    Dir::from_std_file(File::open(path).unwrap())
}

#[test]
fn the_codes_of_the_contract_are_codes_of_the_host() {
    // `Code` has more: those with which the host itself refuses.
    for case in keyhole_cases::cases() {
        if let Err(name) = case.expected() {
            assert!(Code::ALL.iter().any(|code| code.as_str() == name), "{name}");
        }
    }
}

/// What the component imports and exports, read from its bytes.
fn described() -> String {
    let decoded = decode(COMPONENT).unwrap();
    let main = decoded.package();
    let others: Vec<_> = decoded
        .resolve()
        .packages
        .iter()
        .map(|(id, _)| id)
        .filter(|id| *id != main)
        .collect();
    let mut printer = WitPrinter::default();
    printer
        .emit_docs(false)
        .print(decoded.resolve(), main, &others)
        .unwrap();
    printer.output.into()
}

#[test]
fn the_committed_listing_is_what_the_component_has() {
    let listing = workspace().join("guest/component.wit");
    let described = described();
    if env::var_os("KEYHOLE_BLESS").is_some() {
        fs::write(&listing, &described).unwrap();
    }
    let committed = fs::read_to_string(&listing).unwrap_or_default();
    assert!(
        committed == described,
        "guest/component.wit is not what the component has; look at the difference, and run \
         `./x bless` if it is meant:\n{described}"
    );
}

#[test]
fn the_program_tells_a_reviewer_what_the_component_has() {
    assert_eq!(COMPONENT_WIT, described());
}

#[test]
fn the_component_imports_what_it_must_and_nothing_else() {
    let DecodedWasm::Component(resolve, world) = decode(COMPONENT).unwrap() else {
        panic!("not a component");
    };
    let world = &resolve.worlds[world];
    let names = |items: Vec<_>| -> Vec<String> {
        let mut names: Vec<_> = items
            .into_iter()
            .map(|key| resolve.name_world_key(key))
            .collect();
        names.sort();
        names
    };
    let mut imports = IMPORTS;
    imports.sort_unstable();
    assert_eq!(names(world.imports.keys().collect()), imports);
    assert_eq!(names(world.exports.keys().collect()), EXPORTS);
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
