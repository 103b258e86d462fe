use crate::machine;
use std::{collections::BTreeSet, ffi::CStr, fs};

/// Libraries that are part of every Windows that Rust supports.
const LIBRARIES: [&str; 11] = [
    "advapi32.dll",
    "api-ms-win-core-synch-l1-2-0.dll",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "ole32.dll",
    "shell32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// A program's bytes, in the portable executable format.
struct Image(Vec<u8>);

impl Image {
    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap())
    }

    fn u32(&self, at: usize) -> usize {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()) as usize
    }

    fn header(&self) -> usize {
        let at = self.u32(0x3c);
        assert_eq!(&self.0[at..at + 4], b"PE\0\0");
        at
    }

    /// Where the sections are described.
    fn sections(&self) -> impl Iterator<Item = usize> {
        let header = self.header();
        let first = header + 24 + usize::from(self.u16(header + 20));
        (0..usize::from(self.u16(header + 6))).map(move |index| first + 40 * index)
    }

    /// The position in the file of something with this address in memory.
    fn file(&self, address: usize) -> usize {
        let place = |at| [12, 16, 20].map(|field| self.u32(at + field));
        let within = |[start, size, _]: &[usize; 3]| (*start..start + size).contains(&address);
        let [start, _, file] = self.sections().map(place).find(within).unwrap();
        address - start + file
    }

    fn libraries(&self) -> BTreeSet<String> {
        // The second of the tables after the fixed part of the optional header.
        let mut at = self.file(self.u32(self.header() + 24 + 112 + 8));
        let mut all = BTreeSet::new();
        while self.u32(at + 12) != 0 {
            let name = &self.0[self.file(self.u32(at + 12))..];
            let name = CStr::from_bytes_until_nul(name).unwrap();
            all.insert(name.to_str().unwrap().to_lowercase());
            at += 20;
        }
        all
    }
}

fn image() -> Option<Image> {
    Some(Image(fs::read(machine()?.program()).unwrap()))
}

#[test]
fn a_program_needs_libraries_of_the_system_and_no_others() {
    let Some(image) = image() else { return };
    let found = image.libraries();
    assert!(found.contains("kernel32.dll"), "{found:?}");
    // Built by zig, it needs the C library of Windows 10. Built with Microsoft's tools, it
    // also needs their run time, which is not shipped.
    let known = |name: &&String| {
        LIBRARIES.contains(&name.as_str())
            || name.starts_with("api-ms-win-crt-")
            || (cfg!(windows) && (name.starts_with("api-ms-win-") || name.starts_with("vcruntime")))
    };
    let others: Vec<_> = found.iter().filter(|name| !known(name)).collect();
    assert_eq!(others, [] as [&String; 0]);
}

#[test]
fn a_program_lies_anywhere_in_memory_and_no_part_of_it_can_be_written_to_and_run() {
    const HIGH_ENTROPY: u16 = 0x20;
    const DYNAMIC_BASE: u16 = 0x40;
    const NX: u16 = 0x100;
    const RUN_AND_WRITE: usize = 0x2000_0000 | 0x8000_0000;
    let Some(image) = image() else { return };
    let all = HIGH_ENTROPY | DYNAMIC_BASE | NX;
    assert_eq!(image.u16(image.header() + 24 + 70) & all, all);
    for section in image.sections() {
        let rights = image.u32(section + 36);
        assert_ne!(rights & RUN_AND_WRITE, RUN_AND_WRITE);
    }
}
