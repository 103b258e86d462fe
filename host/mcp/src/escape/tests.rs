#![allow(clippy::unwrap_used, reason = "tests")]

use super::{escape, has_special};
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
        let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
        for at in 0..8 {
            let mut word = [b'a'; 8];
            word[at] = byte;
            assert_eq!(has_special(word), is_special, "{byte} {at}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_escaped_as_serde_json_does(text in any::<String>()) {
        prop_assert_eq!(escaped(&text), serde_json::to_vec(&text).unwrap());
    }
}
