//! A document's bytes arrive unchanged.

use keyhole_core::limits::MAX_MAX_BYTES;
use keyhole_tests::World;

#[track_caller]
fn arrives(content: &str) {
    for (_world, mut client) in World::in_each_protocol(|| {
        World::new().file("a.md", content).map(format!(
            "max_bytes = {MAX_MAX_BYTES}\n[keys]\nk-a = '~/a.md'\n"
        ))
    }) {
        client.load_at_last("k-a").is(content);
        client.end();
    }
}

#[test]
fn no_text_is_changed_on_its_way() {
    let control: String = (0..0x20u8).chain([0x7f]).map(char::from).collect();
    for content in [
        "",
        // A byte order mark, and line ends that are mixed or missing.
        "\u{feff}# Title\n",
        "one\r\ntwo\nthree\rfour",
        "\r\n\r\n\n\n",
        "  text \t \n\t\n   \n\n",
        &format!("a{control}b\0"),
        // What JSON escapes.
        r#"" \ / \n \u0041 \" {"jsonrpc":"2.0"} </script>"#,
        // Every character, and forms that are not normal.
        &('\0'..=char::MAX).collect::<String>(),
        "e\u{301} \u{e9} \u{212b} \u{fb01} \u{1f469}\u{200d}\u{1f4bb}",
    ] {
        arrives(content);
    }
}

#[test]
fn the_largest_file_that_a_map_may_allow_arrives_whole() {
    arrives(&text_of(1 << 20));
    arrives(&text_of(usize::try_from(MAX_MAX_BYTES).unwrap()));
}

fn text_of(bytes: usize) -> String {
    let line = "0123456789abcdef identifiers é \u{1f511}\n";
    let mut text = line.repeat(bytes / line.len());
    text.extend(std::iter::repeat_n('.', bytes - text.len()));
    text
}
