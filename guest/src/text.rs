//! Whether bytes are text.
//!
//! The standard library looks at one byte after the other, which in wasm takes three
//! times as long as reading the file. Here all bytes of a block are judged in the same
//! way and without a branch, so that the compiler makes SIMD of it. No library does both
//! this and without shuffles, which not every processor has (docs/performance.md).
//!
//! A mistake here could refuse a text, and no more: the host checks again.

#![forbid(unsafe_code)]

/// Bytes of ASCII that are passed over at once.
const STRETCH: usize = 512;

/// Bytes that are judged at once.
const BLOCK: usize = 64;

/// What a byte may be rests on the three before it.
const BEFORE: usize = 3;

/// Three bytes, and the block behind them.
type Window = [u8; BEFORE + BLOCK];

/// Whether `bytes` are UTF-8: the same as [`core::str::from_utf8`] would say.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    let mut was_ascii = true;
    for start in (0..bytes.len()).step_by(STRETCH) {
        let stretch = bytes.get(start..).and_then(<[u8]>::first_chunk);
        let is_ascii = stretch.is_some_and(is_plain);
        let is_passed = is_ascii && was_ascii;
        if !is_passed && !is_sound(bytes, start) {
            return false;
        }
        was_ascii = is_ascii;
    }
    // Nothing stands behind the end, so nothing may be missing there.
    !bytes
        .iter()
        .rev()
        .zip([0xc0, 0xe0, 0xf0])
        .any(|(byte, lead)| *byte >= lead)
}

/// Whether a stretch is ASCII. In most files, each is. This is a function of its own, so
/// that nothing else takes its registers.
#[inline(never)]
fn is_plain(stretch: &[u8; STRETCH]) -> bool {
    is_ascii(stretch)
}

/// Whether each byte of the stretch from `start` may stand behind those before it.
#[inline(never)]
fn is_sound(bytes: &[u8], start: usize) -> bool {
    let end = bytes.len().min(start + STRETCH);
    let mut was_ascii = false;
    for start in (start..end).step_by(BLOCK) {
        let edge;
        let inside = start
            .checked_sub(BEFORE)
            .and_then(|from| bytes.get(from..start + BLOCK)?.try_into().ok());
        let window: &Window = match inside {
            Some(window) => window,
            None => {
                edge = edge_of(bytes, start);
                &edge
            }
        };
        let is_ascii = is_ascii(&window[BEFORE..]);
        let is_passed = is_ascii && was_ascii;
        if !is_passed && !is_sound_block(window) {
            return false;
        }
        was_ascii = is_ascii;
    }
    true
}

/// The first block, or the last: zeros stand where there is nothing.
fn edge_of(bytes: &[u8], start: usize) -> Window {
    let mut edge = [0; BEFORE + BLOCK];
    let from = start.saturating_sub(BEFORE);
    let room = edge.iter_mut().skip(BEFORE - (start - from));
    room.zip(&bytes[from..]).for_each(|(to, byte)| *to = *byte);
    edge
}

/// Whether all `bytes` are ASCII.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let mut beyond = false;
    for byte in bytes {
        beyond |= *byte >= 0x80;
    }
    !beyond
}

/// Whether each byte of the block may stand behind those before it.
fn is_sound_block(window: &Window) -> bool {
    let mut wrong = false;
    for at in BEFORE..BEFORE + BLOCK {
        let (byte, last) = (window[at], window[at - 1]);
        // A byte continues a character if, and only if, one is to be continued.
        let continues = byte & 0xc0 == 0x80;
        let must = (last >= 0xc0) | (window[at - 2] >= 0xe0) | (window[at - 3] >= 0xf0);
        wrong |= continues != must;
        // These would begin what could be shorter, or lies beyond Unicode.
        wrong |= (byte & 0xfe == 0xc0) | (byte >= 0xf5);
        // So would these two together; and the second pair, a surrogate.
        wrong |= (last == 0xe0) & (byte < 0xa0);
        wrong |= (last == 0xed) & (byte >= 0xa0);
        wrong |= (last == 0xf0) & (byte < 0x90);
        wrong |= (last == 0xf4) & (byte >= 0x90);
    }
    !wrong
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, STRETCH, is_utf8};
    use alloc::vec::Vec;

    fn agrees(bytes: &[u8]) {
        let is_text = core::str::from_utf8(bytes).is_ok();
        assert_eq!(is_utf8(bytes), is_text, "{bytes:02x?}");
    }

    #[test]
    fn every_three_bytes_are_judged_as_the_standard_library_does() {
        for all in 0..=0x00ff_ffff_u32 {
            let [_, a, b, c] = all.to_be_bytes();
            agrees(&[a, b, c]);
        }
    }

    /// Each of these lies beside a limit.
    const EDGES: [u8; 24] = [
        0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
        0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff,
    ];

    #[test]
    fn every_five_bytes_beside_a_limit_are_too() {
        let mut bytes = [0; 5];
        for number in 0..EDGES.len().pow(5) {
            let mut rest = number;
            for byte in &mut bytes {
                *byte = EDGES[rest % EDGES.len()];
                rest /= EDGES.len();
            }
            agrees(&bytes);
        }
    }

    #[test]
    fn it_does_not_matter_where_in_a_file_they_stand() {
        for length in 0..=2 * BLOCK + 8 {
            for at in 0..length {
                for filling in ["a", "\u{e9}", "\u{20ac}", "\u{1f511}"] {
                    let text = filling.repeat(length);
                    // Characters may be cut off at the end.
                    let mut bytes = Vec::from(&text.as_bytes()[..length]);
                    agrees(&bytes);
                    for byte in EDGES {
                        bytes[at] = byte;
                        agrees(&bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn nor_does_it_where_long_stretches_of_ascii_begin_and_end() {
        for limit in [STRETCH, 2 * STRETCH] {
            for at in limit - 6..limit + 3 {
                for length in [
                    at + 1,
                    at + 4,
                    limit,
                    limit + 4,
                    3 * STRETCH,
                    3 * STRETCH + 7,
                ] {
                    for character in ["a", "\u{e9}", "\u{20ac}", "\u{1f511}"] {
                        let text = "a".repeat(at) + character + &"a".repeat(3 * STRETCH);
                        // The character may be cut off at the end.
                        let mut bytes = Vec::from(&text.as_bytes()[..length]);
                        agrees(&bytes);
                        for changed in (limit - 3..limit + 3).filter(|at| *at < length) {
                            for byte in EDGES {
                                let before = core::mem::replace(&mut bytes[changed], byte);
                                agrees(&bytes);
                                bytes[changed] = before;
                            }
                        }
                    }
                }
            }
        }
    }
}
