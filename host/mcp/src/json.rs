//! An answer as JSON. serde_json looks at each byte of a text separately: for a document of 1 MiB,
//! that was half of the host's work, so we escape it.

use rmcp::model::ServerJsonRpcMessage;

/// An empty text in an answer, and nothing else: in a JSON string, a quote has a backslash.
const EMPTY_TEXT: &[u8] = br#""text":"""#;

/// What serde_json writes for `answer`: up to its empty text, and the rest.
pub(super) fn around_text(answer: &ServerJsonRpcMessage) -> serde_json::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = serde_json::to_vec(answer)?;
    let mut places = head.windows(EMPTY_TEXT.len());
    let place = places.position(|window| window == EMPTY_TEXT);
    let tail = head.split_off(place.map_or(head.len(), |place| place + EMPTY_TEXT.len() - 1));
    Ok((head, tail))
}

/// Appends `text` to `out` as the inside of a JSON string, as serde_json writes it.
///
/// It copies eight bytes at a time, and takes back those behind a byte that must be escaped. So
/// nothing calls `memcpy` for the few bytes between two of them: musl's took half of the time.
pub(super) fn escape(text: &[u8], out: &mut Vec<u8>) {
    // Room for a few escaped quotes; with more of them it grows.
    out.reserve(text.len() + text.len() / 8);
    let mut left = text;
    while let Some((word, behind)) = left.split_first_chunk::<WORD>() {
        out.extend_from_slice(word);
        let Some(at) = find_special(*word) else {
            left = behind;
            continue;
        };
        out.truncate(out.len() - WORD + at);
        let Some((byte, behind)) = left.get(at..).and_then(<[u8]>::split_first) else {
            break;
        };
        escape_byte(*byte, out);
        left = behind;
    }
    for byte in left {
        escape_byte(*byte, out);
    }
}

/// Appends one byte, escaped if it must be.
fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        ..0x20 => return out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// How many bytes are looked at together.
const WORD: usize = 8;

/// Where the first byte is that must be escaped: a control character, a quote, a backslash.
fn find_special(word: [u8; WORD]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; WORD]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; WORD]);
    // Sets a byte's high bit if it is one of them. A borrow can wrongly set only
    // higher bits, so the lowest bit that is set is right.
    let word = u64::from_le_bytes(word);
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let special = control
        | is_zero(word ^ (ONES * u64::from(b'"')))
        | is_zero(word ^ (ONES * u64::from(b'\\')));
    match special & HIGHS {
        0 => None,
        special => Some(special.trailing_zeros() as usize / 8),
    }
}

#[cfg(test)]
mod tests;
