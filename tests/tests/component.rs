//! What the component may import, and what it makes of what it finds.

use crate::hostile::ground::fifo;
use cap_std::fs::Dir;
use keyhole::{
    Code, Grant,
    limits::Limits,
    sandbox::{COMPONENT, Sandbox},
};
use keyhole_tests::{PATIENCE, workspace};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::{env, fs, fs::File, path::Path, process::Command, time::Instant};
use wit_component::{DecodedWasm, WitPrinter, decode};

/// Everything that the component may import. From the clock it imports only a type:
/// that of a file's modification time.
const IMPORTS: [&str; 4] = [
    "keyhole:context/grants@0.2.0",
    "wasi:filesystem/preopens@0.2.12",
    "wasi:filesystem/types@0.2.12",
    "wasi:clocks/wall-clock@0.2.12",
];
const EXPORTS: [&str; 1] = ["keyhole:context/loader@0.2.0"];
/// The largest size that the component may have, in bytes.
const LARGEST: usize = 40 * 1024;

/// Opening a device, or a FIFO that somebody writes to, may have an effect.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_regular_file_is_not_even_opened() {
    use rustix::{fs::inotify, io::Errno};
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("fifo.md");
    fifo(&path);
    let events = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&events, &path, inotify::WatchFlags::OPEN).unwrap();
    let opened = || {
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let next = inotify::Reader::new(&events, &mut buffer).next().map(drop);
        next != Err(Errno::AGAIN)
    };
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    assert_eq!(call(&sandbox, home.path(), "fifo.md"), Err(Code::NotAFile));
    assert!(!opened());
    // This shows that the watch would report an open.
    drop(File::options().read(true).write(true).open(&path).unwrap());
    assert!(opened());
}

/// Runs in a process of its own, which does nothing else: the limit is per process.
#[test]
fn a_file_that_cannot_be_opened_for_want_of_a_descriptor_says_so() {
    const ALONE: &str = "KEYHOLE_TEST_ALONE";
    if env::var_os(ALONE).is_none() {
        let name = "component::a_file_that_cannot_be_opened_for_want_of_a_descriptor_says_so";
        let mut this = Command::new(env::current_exe().unwrap());
        let ran = this
            .args(["--exact", name])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("a.md"), "text").unwrap();
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    let grant = Grant {
        directory: open(home.path()),
        name: "a.md".to_owned(),
        max_bytes: 100,
    };
    let none = Rlimit {
        current: Some(3),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, none).unwrap();
    let refused = sandbox.call("k-any", Some(grant), Instant::now() + PATIENCE);
    assert_eq!(refused, Err(Code::OutOfResources));
}

/// A call with a grant for `name`, whatever kind of object that is.
fn call(sandbox: &Sandbox, directory: &Path, name: &str) -> Result<String, Code> {
    let grant = Grant {
        directory: open(directory),
        name: name.to_owned(),
        max_bytes: 100,
    };
    sandbox.call("k-any", Some(grant), Instant::now() + PATIENCE)
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

/// The component gives a file away in parts of 128 KiB.
#[test]
fn a_file_is_served_whole_wherever_its_parts_end() {
    const PART: usize = 128 << 10;
    let home = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    let answer = |content: &[u8], max_bytes: usize| {
        let name = "a.md".to_owned();
        fs::write(home.path().join(&name), content).unwrap();
        let grant = Grant {
            directory: open(home.path()),
            name,
            max_bytes: max_bytes as u64,
        };
        sandbox.call("k-any", Some(grant), Instant::now() + PATIENCE)
    };
    // No two parts are alike.
    let lines = (0..2 << 20).map(|line| format!("{line}\n"));
    let long: String = lines.collect();
    for size in [
        0,
        1,
        PART - 1,
        PART,
        PART + 1,
        2 * PART,
        2 * PART + 1,
        8 << 20,
    ] {
        let text = &long[..size];
        assert!(
            answer(text.as_bytes(), size).as_deref() == Ok(text),
            "{size}"
        );
        if size > 0 {
            assert_eq!(answer(text.as_bytes(), size - 1), Err(Code::TooLarge));
        }
    }
    for character in ["\u{e9}", "\u{20ac}", "\u{1f511}"] {
        for shift in 0..4 {
            let text = "a".repeat(shift) + &character.repeat(PART);
            assert!(
                answer(text.as_bytes(), 1 << 20).as_deref() == Ok(&*text),
                "{shift}"
            );
            // One byte is wrong, in the first part or in a later one.
            for at in [shift, PART - 1, PART, text.len() - 1] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = 0xff;
                assert_eq!(answer(&bytes, 1 << 20), Err(Code::NotUtf8), "{shift} {at}");
            }
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
