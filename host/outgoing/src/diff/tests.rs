//! What git prints, as it is read.

use super::*;
use crate::{Place, budget::Budget};
use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

/// The passages of a difference that git prints: where each begins, and its text.
fn passages(output: &str) -> Result<Vec<(String, String)>, Uncollected> {
    let mut told = Vec::new();
    for file in Output::new(output.as_bytes()).differences()? {
        for passage in file
            .passages(output.as_bytes(), None, &mut Budget::new())
            .unwrap()
        {
            let place = match passage.place {
                Place::Lines { path, first, .. } => format!("{}:{first}", path.display()),
                Place::Path(path) => format!("name {}", path.display()),
                other => format!("{other:?}"),
            };
            told.push((place, passage.text));
        }
    }
    Ok(told)
}

/// The same, as it is expected.
fn expected(told: &[(&str, &str)]) -> Result<Vec<(String, String)>, Uncollected> {
    let mut owned = Vec::new();
    for (place, text) in told {
        owned.push(((*place).to_owned(), (*text).to_owned()));
    }
    Ok(owned)
}

#[test]
fn added_lines_have_the_number_of_the_first() {
    let printed = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n\
        @@ -3 +3,2 @@ fn head() {\n-old\n+new\n+more\n\
        @@ -9,2 +10,0 @@\n-a\n-b\n\
        @@ -20,0 +20 @@\n+last\n\\ No newline at end of file\n\
        diff --git a/y b/y\nindex 1..2\n@@ -1 +1 @@\n-y\n\\ No newline at end of file\n+z\n";
    let told = [("x:3", "new\nmore\n"), ("x:20", "last\n"), ("y:1", "z\n")];
    assert_eq!(passages(printed), expected(&told));
}

#[test]
fn lines_of_a_file_do_not_pass_for_gits() {
    let printed = "diff --git a/x b/x\n@@ -0,0 +1,4 @@\n\
        +diff --git a/other b/other\n+@@ -0,0 +1,9 @@\n+++ b/other\n+\\ No newline\n";
    let text = "diff --git a/other b/other\n@@ -0,0 +1,9 @@\n++ b/other\n\\ No newline\n";
    assert_eq!(passages(printed), expected(&[("x:1", text)]));
}

#[test]
fn a_new_name_is_told_however_it_is_printed() {
    let printed = "diff --git a/a b/c b/a b/c\nnew file mode 100644\nindex 0..1\n\
        diff --git \"a/q\\\"\\\\\\t\\303\\251\" \"b/q\\\"\\\\\\t\\303\\251\"\nnew file mode 100644\n\
        diff --git a/old b/much/newer\nsimilarity index 90%\nrename from old\n\
        rename to much/newer\nindex 1..2\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-a\n";
    let told = [
        ("name a b/c", "a b/c"),
        ("name q\"\\\té", "q\"\\\té"),
        ("name much/newer", "much/newer"),
        ("much/newer:1", "b\n"),
    ];
    assert_eq!(passages(printed), expected(&told));
}

#[test]
fn each_escape_in_gits_quotes_is_one_byte() {
    let printed = br#""\a\b\t\n\v\f\r\"\\\001\377\8""#;
    let bytes = b"\x07\x08\t\n\x0b\x0c\r\"\\\x01\xff8";
    assert_eq!(unquoted_path(printed), Path::new(OsStr::from_bytes(bytes)));
}

#[test]
fn what_is_not_understood_is_an_error() {
    for printed in [
        "nonsense\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
        "diff --git a/x b/x\n@@ -1 +1 @@\n+b\n-a\n",
        "diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+b\n",
        "diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+b\ndiff --git a/y b/y\n",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n",
        "diff --git a/x b/x\n@@ -1,x +1 @@\n-a\n+b\n",
        "diff --git a/x b/x\n@@ -1 1 @@\n-a\n+b\n",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b",
        "diff --git a/x b/x\n@@ -1,99999999999999999999 +1 @@\n-a\n+b\n",
    ] {
        assert_eq!(passages(printed), Err(Uncollected::Unreadable), "{printed}");
    }
}

/// One commit as git prints it, with a difference.
fn printed(name: &str, parents: &str, message: &str, difference: &str) -> String {
    format!("\0{name}\0{parents}\0A <a@x>\0C <c@x>\0{message}\0\n\n{difference}")
}

/// A difference of `x` in these lines.
fn adds(first: usize, lines: &[&str]) -> String {
    let count = lines.len();
    let text: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("diff --git a/x b/x\n@@ -0,0 +{first},{count} @@\n{text}")
}

#[test]
fn commits_are_told_each_by_itself() {
    let first = printed("11111112", "p", "one\n\nmore", &adds(1, &["a"]));
    let output = first + &printed("22222223", "", "two", "");
    let commits = Output::new(output.as_bytes()).commits().unwrap();
    let told: Vec<_> = commits
        .iter()
        .map(|one| (one.short_name(), &*one.shown_message))
        .collect();
    assert_eq!(told, [("1111111", "one\n\nmore"), ("2222222", "two")]);
    assert_eq!(commits[0].parents, ["p"]);
    assert_eq!(
        (commits[0].differences.len(), commits[1].differences.len()),
        (1, 0)
    );
}

/// The lines that a merge of these differences adds: where each begins, and the text.
fn merged(parents: &str, differences: &[String]) -> Vec<(usize, String)> {
    let mut output = String::new();
    for difference in differences {
        output += &printed("1", parents, "m", difference);
    }
    let commits = Output::new(output.as_bytes()).commits().unwrap();
    assert_eq!(commits.len(), 1);
    let mut lines = Vec::new();
    for difference in &commits[0].differences {
        for passage in difference
            .passages(output.as_bytes(), None, &mut Budget::new())
            .unwrap()
        {
            if let Place::Lines { first, .. } = passage.place {
                lines.push((first, passage.text));
            }
        }
    }
    lines
}

#[test]
fn a_merge_adds_the_lines_that_differ_from_each_parent() {
    let one = adds(1, &["a", "b", "c", "d", "e"]);
    let other = adds(2, &["b", "c"]) + "@@ -9,0 +5 @@\n+e\n";
    let both = vec![(2, "b\nc\n".to_owned()), (5, "e\n".to_owned())];
    assert_eq!(merged("p q", &[one.clone(), other.clone()]), both);
    assert_eq!(merged("p q", &[other.clone(), one.clone()]), both);
    let third = adds(3, &["c"]);
    let common = vec![(3, "c\n".to_owned())];
    assert_eq!(
        merged("p q r", &[one.clone(), other.clone(), third]),
        common
    );
    // From a parent that is the same, nothing differs, and git does not tell it.
    assert_eq!(merged("p q r", &[one.clone(), other]), []);
    assert_eq!(merged("p q", &[one]), []);
}

#[test]
fn lines_that_name_a_commits_own_people_are_left_out() {
    let own = ["A B <a@x>".to_owned(), "C <c@x>".to_owned()];
    let message = "subject\n\nA B <a@x>\nSigned-off-by: A B <a@x>\nReviewed-By:C <c@x>\r\n\
        Reviewed-by: D <d@x>\nAcked-by: A B <a@x> and D\nall that was done-by: C <c@x>\n\
        see: C <c@x>\nCo-authored-by: C <c@x>";
    let kept = "subject\n\nA B <a@x>\n\
        Reviewed-by: D <d@x>\nAcked-by: A B <a@x> and D\nall that was done-by: C <c@x>\n\
        see: C <c@x>\n";
    assert_eq!(without_own_lines(message, &own), kept);
}

#[test]
fn an_object_is_read_by_its_size() {
    let output = b"1 tag 5\na\n2 c\n2 missing\n";
    let mut read = Output::new(output);
    let object = read.next_object().unwrap();
    assert_eq!((&*object.kind, object.content), ("tag", &b"a\n2 c"[..]));
    assert_eq!(read.next_object().err(), Some(Uncollected::ObjectMissing));
    let short = Output::new(b"1 tag 5\na\n").next_object();
    assert_eq!(short.err(), Some(Uncollected::Unreadable));
}
