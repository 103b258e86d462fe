#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use keyhole_core::{LiveMap, Location};

const MAP: &str = r#"
[keys]
'kk"[0123]\456789abc' = "a.md"
'kk-0123456789abcdef' = "a.md"
'kk-0123456789abcdef-and-more' = "a.md"
"kk'0123456789abcdef" = "a.md"
notes = "a.md"
keyhole-privacy-catalog = "a.md"
"#;

#[test]
fn each_form_of_a_key_is_hidden_and_a_word_is_shown() {
    let live = LiveMap::new(Location::nowhere());
    let map = live.parse(MAP.as_bytes()).unwrap();
    let keys = MapKeys::of(Some(&map));
    for (text, shown) in [
        (r#"/x/kk"[0123]\456789abc/y"#, "/x/…/y"),
        (r#""/x/kk\"[0123]\\456789abc""#, r#""/x/…""#),
        (r#"Read(~/kk"?0123??456789abc/**)"#, "Read(~/…/**)"),
        (r#""Read(~/kk\"?0123??456789abc/**)""#, r#""Read(~/…/**)""#),
        (r"'/x/kk'\''0123456789abcdef/y' guard", "'/x/…/y' guard"),
        ("äkk-0123456789abcdefä", "ä…ä"),
        ("kk-0123456789abcdef-and-more", "…"),
        ("kk-0123456789abcdef-and-mor", "…-and-mor"),
        ("kk-0123456789abcde", "kk-0123456789abcde"),
        ("~/notes/a.md", "~/notes/a.md"),
        ("keyhole-privacy-catalog", "keyhole-privacy-catalog"),
    ] {
        assert_eq!(keys.text_without_keys(text), shown, "{text}");
    }
}
