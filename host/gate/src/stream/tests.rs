//! What of a text on standard input is compared.

use super::texts_of_stream;
use keyhole_outgoing::Place;

/// Each text with its place.
fn read(stream: &str) -> Vec<String> {
    let rows = texts_of_stream(stream.to_owned()).into_iter().map(|text| {
        let place = match text.place {
            Some(Place::Lines { path, first, .. }) => format!("{}:{first}", path.display()),
            Some(Place::Path(path)) => format!("name {}", path.display()),
            other => panic!("no such place: {other:?}"),
        };
        format!("{place} {}", text.text)
    });
    rows.collect()
}

#[test]
fn of_a_difference_the_added_lines_names_and_messages_count() {
    let stream = "commit 3f2a91c\nAuthor: Theo <t@x>\n\n    Message\n    goes on\n\n\
        diff --git a/old.rs b/old.rs\nindex 1..2 100644\n--- a/old.rs\n+++ b/old.rs\n\
        @@ -1,3 +1,4 @@ fn x\n one\n-two\n+2\n+three\n four\n\\ No newline at end of file\n\
        @@ -10 +11 @@\n-ten\n+10\n\
        diff --git a/new.rs b/new.rs\nnew file mode 100644\n--- /dev/null\n+++ b/new.rs\n\
        @@ -0,0 +1,2 @@\n+++ b/no-name\n+    x\n";
    let expected = [
        "standard input:4 Message\ngoes on",
        "old.rs:2 2\nthree",
        "old.rs:11 10",
        "name new.rs new.rs",
        "new.rs:1 ++ b/no-name\n    x",
    ];
    assert_eq!(read(stream), expected);
}

#[test]
fn a_name_is_read_as_it_is_however_git_prints_it() {
    for (printed, name) in [
        (r#""b/L\303\244rkspur/a.txt""#, "Lärkspur/a.txt"),
        (r#""b/\345\274\240.txt""#, "张.txt"),
        (r#""b/a\"b\\c\td\n""#, "a\"b\\c\td\n"),
        (r#""b/a\"#, "a\\"),
        (r#""b/\8""#, "8"),
        (r#""b/a" behind"#, "a"),
        ("b/a b\tbehind", "a b"),
    ] {
        let stream = format!("--- /dev/null\n+++ {printed}\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(read(&stream)[0], format!("name {name} {name}"));
    }
}

#[test]
fn of_any_other_text_all_counts() {
    for stream in [
        "a\nb\n",
        "",
        "@@ -a +b @@\n",
        "@@@ -1 -1 +1 @@@\n@@ -1 +1 @@\n",
    ] {
        assert_eq!(read(stream), [format!("standard input:1 {stream}")]);
    }
}
