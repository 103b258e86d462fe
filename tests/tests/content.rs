//! A document's bytes arrive unchanged.

use keyhole::limits::MAX_MAX_BYTES;
use keyhole_tests::{Protocol, World};

#[track_caller]
fn arrives(content: &str) {
    for protocol in Protocol::ALL {
        let world = World::new()
            .speaking(protocol)
            .file("a.md", content)
            .map(format!(
                "max_bytes = {MAX_MAX_BYTES}\n[keys]\nk-a = '~/a.md'\n"
            ));
        let mut client = world.client();
        client.load("k-a").is(content);
        client.end();
    }
}

#[test]
fn an_empty_file_is_an_empty_document() {
    arrives("");
}

#[test]
fn a_byte_order_mark_stays() {
    arrives("\u{feff}# Title\n");
}

#[test]
fn line_ends_stay_as_they_are_mixed_or_missing() {
    arrives("one\r\ntwo\nthree\rfour");
    arrives("\r\n\r\n\n\n");
}

#[test]
fn trailing_blanks_and_blank_lines_stay() {
    arrives("  text \t \n\t\n   \n\n");
}

#[test]
fn nul_and_control_characters_stay() {
    let all: String = (0..0x20u8).chain([0x7f]).map(char::from).collect();
    arrives(&format!("a{all}b\0"));
}

#[test]
fn what_json_escapes_stays() {
    arrives(r#"" \ / \n \u0041 \" {"jsonrpc":"2.0"} </script>"#);
}

#[test]
fn every_character_of_unicode_stays() {
    arrives(&('\0'..=char::MAX).collect::<String>());
}

#[test]
fn normalization_forms_are_left_alone() {
    arrives("e\u{301} \u{e9} \u{212b} \u{fb01} \u{1f469}\u{200d}\u{1f4bb}");
}

#[test]
fn a_file_of_one_mebibyte_arrives_whole() {
    arrives(&text_of(1 << 20));
}

#[test]
fn the_largest_file_that_a_map_may_allow_arrives_whole() {
    arrives(&text_of(usize::try_from(MAX_MAX_BYTES).unwrap()));
}

/// A text of `bytes` bytes.
fn text_of(bytes: usize) -> String {
    let line = "0123456789abcdef identifiers é \u{1f511}\n";
    let mut text = line.repeat(bytes / line.len());
    text.extend(std::iter::repeat_n('.', bytes - text.len()));
    text
}
