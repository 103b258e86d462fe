//! A Mach-O file, as `mach-o/loader.h` and `kern/cs_blobs.h` describe it: as much of
//! it as the tests need. Another file fails the test that reads it.

use sha2::{Digest as _, Sha256};

const MAGIC_64: u32 = 0xfeed_facf;

const LC_SEGMENT_64: u32 = 0x19;
const LC_LOAD_DYLIB: u32 = 0xc;
const LC_LOAD_WEAK_DYLIB: u32 = 0x8000_0018;
const LC_REEXPORT_DYLIB: u32 = 0x8000_001f;
const LC_LOAD_UPWARD_DYLIB: u32 = 0x8000_0023;
const LC_LAZY_LOAD_DYLIB: u32 = 0x20;
const LC_UUID: u32 = 0x1b;
const LC_CODE_SIGNATURE: u32 = 0x1d;
const LC_BUILD_VERSION: u32 = 0x32;
const LC_VERSION_MIN_MACOSX: u32 = 0x24;

/// `CSMAGIC_EMBEDDED_SIGNATURE` and `CSMAGIC_CODEDIRECTORY`. All of a signature is
/// big-endian.
const SIGNATURE: u32 = 0xfade_0cc0;
const CODE_DIRECTORY: u32 = 0xfade_0c02;

/// `CS_HASHTYPE_SHA256`.
const SHA_256: u8 = 2;

/// A file, with what its load commands say.
#[derive(Default)]
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    pub(super) processor: u32,
    pub(super) kind: u32,
    pub(super) flags: u32,
    /// Every load command's number.
    pub(super) commands: Vec<u32>,
    pub(super) libraries: Vec<String>,
    pub(super) segments: Vec<Segment>,
    /// Platform, and the oldest version of it, as `major << 16 | minor << 8`.
    pub(super) runs_on: Option<(u32, u32)>,
    pub(super) identifiers: Vec<[u8; 16]>,
    signature: Option<(usize, usize)>,
}

/// A part of the file, as it is mapped.
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// The rights that it may get, and those at the start: 1 to read, 2 to write, 4 to run.
    pub(super) rights: (u32, u32),
}

/// What a signature says.
pub(super) struct Signature {
    pub(super) flags: u32,
    /// The end of the signed code, and the start and end of the signature.
    pub(super) limit: usize,
    pub(super) at: (usize, usize),
    pub(super) identifier: String,
    /// For each signed page, the hash in the signature, and the page's own hash.
    pub(super) pages: Vec<([u8; 32], [u8; 32])>,
}

impl Image {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(word(0), MAGIC_64, "not a Mach-O file of 64 bits");
        let mut image = Self {
            processor: word(4),
            kind: word(12),
            flags: word(24),
            ..Self::default()
        };
        let mut at = 32;
        for _ in 0..word(16) {
            let (command, size) = (word(at), word(at + 4) as usize);
            match command {
                LC_SEGMENT_64 => image.segments.push(Segment {
                    name: text(&bytes[at + 8..at + 24]),
                    offset: long(at + 40),
                    size: long(at + 48),
                    rights: (word(at + 56), word(at + 60)),
                }),
                LC_LOAD_DYLIB | LC_LOAD_WEAK_DYLIB | LC_REEXPORT_DYLIB | LC_LOAD_UPWARD_DYLIB
                | LC_LAZY_LOAD_DYLIB => {
                    let name = at + word(at + 8) as usize;
                    image.libraries.push(text(&bytes[name..at + size]));
                }
                LC_CODE_SIGNATURE => {
                    image.signature = Some((word(at + 8) as usize, word(at + 12) as usize));
                }
                LC_UUID => {
                    let identifier = bytes[at + 8..at + 24].try_into().unwrap();
                    image.identifiers.push(identifier);
                }
                LC_BUILD_VERSION => image.runs_on = Some((word(at + 8), word(at + 12))),
                LC_VERSION_MIN_MACOSX => image.runs_on = Some((1, word(at + 8))),
                _ => {}
            }
            image.commands.push(command);
            at += size;
        }
        assert_eq!(at, 32 + word(20) as usize, "the load commands' size");
        image.bytes = bytes;
        image
    }

    pub(super) fn signature(&self) -> Option<Signature> {
        let (start, size) = self.signature?;
        let blob = &self.bytes[start..start + size];
        let word = |at: usize| u32::from_be_bytes(blob[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), SIGNATURE);
        // An index of parts, by kind and offset.
        let directory = (0..word(8) as usize)
            .map(|part| word(16 + 8 * part) as usize)
            .find(|at| word(*at) == CODE_DIRECTORY)
            .expect("a signature has a code directory");
        let field = |at: usize| word(directory + at) as usize;
        assert_eq!((blob[directory + 36], blob[directory + 37]), (32, SHA_256));
        let (limit, page) = (field(32), 1_usize << blob[directory + 39]);
        let signed = self.bytes[..limit].chunks(page);
        assert_eq!(signed.len(), field(28), "a hash for each page");
        let hashes = blob[directory + field(16)..].chunks(32);
        Some(Signature {
            flags: word(directory + 12),
            limit,
            at: (start, start + size),
            identifier: text(&blob[directory + field(20)..]),
            pages: hashes
                .zip(signed)
                .map(|(said, page)| (said.try_into().unwrap(), Sha256::digest(page).into()))
                .collect(),
        })
    }
}

fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8(text.to_vec()).unwrap()
}
