#![allow(clippy::unwrap_used, reason = "tests")]

use super::{escape, find_special};
use proptest::prelude::*;

fn escaped(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    escape(text.as_bytes(), &mut out);
    out.push(b'"');
    out
}

#[test]
fn each_byte_at_each_place_is_escaped_as_serde_json_does() {
    for byte in 0..=0x7f_u8 {
        for before in 0..20 {
            let text = format!(
                "{}{}é\u{7f}{}",
                "é".repeat(before / 2),
                "a".repeat(before % 2),
                byte as char
            );
            let text = text + &"b".repeat(before);
            assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
        }
        let special = find_special([byte; 8]).is_some();
        assert_eq!(special, byte < 0x20 || byte == b'"' || byte == b'\\');
    }
}

proptest! {
    #[test]
    fn any_text_is_escaped_as_serde_json_does(text in any::<String>()) {
        prop_assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
    }
}
