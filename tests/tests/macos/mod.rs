//! What the bytes of a program for macOS show, without running it.
//!
//! `./x release cross` and `./x release dist --all` build such programs on Linux.
//! `KEYHOLE_MACOS` names them, as `PATH` names folders. Without it, these tests cannot run,
//! so they have to be asked for.

mod image;

use image::Image;
use std::{env, fs};

const X86_64: u32 = 0x0100_0007;
const ARM64: u32 = 0x0100_000c;

/// Each program that is there, with its name.
fn programs() -> Vec<(String, Image)> {
    let named = env::var_os("KEYHOLE_MACOS").expect("KEYHOLE_MACOS names the programs");
    let programs: Vec<_> = env::split_paths(&named)
        .map(|path| {
            let image = Image::of(fs::read(&path).unwrap());
            (path.display().to_string(), image)
        })
        .collect();
    assert!(!programs.is_empty());
    programs
}

/// `MH_EXECUTE`, `MH_PIE` and `MH_ALLOW_STACK_EXECUTION`.
const EXECUTABLE: u32 = 2;
const ANYWHERE: u32 = 0x20_0000;
const STACK_RUNS: u32 = 0x2_0000;
/// `LC_RPATH`, which names places to search for libraries, and `LC_DYLD_ENVIRONMENT`.
const ELSEWHERE: [u32; 2] = [0x8000_001c, 0x27];
const MACOS: u32 = 1;
const AD_HOC: u32 = 2;
/// `CS_RUNTIME`: the hardened runtime would not let the sandbox make its memory executable.
const RUNTIME: u32 = 0x1_0000;

#[test]
#[ignore = "./x release cross builds programs for macOS"]
fn a_program_is_for_its_processor_and_each_macos_and_needs_the_system_library_only() {
    for (name, image) in programs() {
        let oldest = match image.processor {
            ARM64 => 11 << 16,
            X86_64 => (10 << 16) | (12 << 8),
            other => panic!("{name}: {other:#x}"),
        };
        assert_eq!(image.runs_on, Some((MACOS, oldest)), "{name}");
        assert_eq!(image.libraries, ["/usr/lib/libSystem.B.dylib"], "{name}");
        for command in ELSEWHERE {
            assert!(!image.commands.contains(&command), "{name}: {command:#x}");
        }
        // Newer systems start no program without one, and debuggers find symbols by it.
        let [identifier] = image.identifiers[..] else {
            panic!("{name}: {:?}", image.identifiers);
        };
        assert_ne!(identifier, [0; 16], "{name}");
    }
}

#[test]
#[ignore = "./x release cross builds programs for macOS"]
fn a_program_lies_anywhere_in_memory_and_no_part_of_it_can_be_written_to_and_run() {
    for (name, image) in programs() {
        assert_eq!(image.kind, EXECUTABLE, "{name}");
        assert_eq!(image.flags & (ANYWHERE | STACK_RUNS), ANYWHERE, "{name}");
        let mut runs = 0;
        for segment in &image.segments {
            let (most, first) = segment.rights;
            assert_ne!(most & 6, 6, "{name}: {}", segment.name);
            assert_ne!(first & 6, 6, "{name}: {}", segment.name);
            runs += u32::from(first & 4 != 0);
            let end = segment.offset + segment.size;
            assert!(end <= image.bytes.len() as u64, "{name}");
        }
        assert_eq!(runs, 1, "{name}");
        assert_eq!(image.segments[0].name, "__PAGEZERO", "{name}");
    }
}

/// An arm64 Mac kills a program at the first page whose hash is wrong.
#[test]
#[ignore = "./x release cross builds programs for macOS"]
fn a_program_is_signed_to_its_end_and_each_page_is_what_was_signed() {
    for (name, image) in programs() {
        let Some(signature) = image.signature() else {
            assert_ne!(image.processor, ARM64, "{name} is not signed");
            continue;
        };
        assert_eq!(signature.flags & (AD_HOC | RUNTIME), AD_HOC, "{name}");
        assert_eq!(signature.limit, signature.at.0, "{name}");
        assert_eq!(signature.at.1, image.bytes.len(), "{name}");
        assert!(!signature.identifier.is_empty(), "{name}");
        for (page, (said, is)) in signature.pages.iter().enumerate() {
            assert_eq!(said, is, "{name}: page {page}");
        }
        let last = image.segments.last().unwrap();
        let end = (last.offset + last.size) as usize;
        assert_eq!(
            (&*last.name, end),
            ("__LINKEDIT", image.bytes.len()),
            "{name}"
        );
    }
}
