//! What is shown of a finding. The program itself is tested from the outside.

use super::{Comparison, Scanned, without_value};
use crate::{
    compare::{List, Text},
    said::Reader,
};
use keyhole_outgoing::{Passage, Place};
use std::{
    path::Path,
    time::{Duration, Instant},
};

fn shown(reader: Reader, is_json: bool) -> Vec<String> {
    let list = "# Theo Blix\n- Wexelmoor\n# Codes\n- tblix4242\n";
    let list = List::new(list.to_owned()).unwrap();
    let lines = |path: &str, commit: Option<&str>| Text {
        place: Some(Place::Lines {
            path: path.into(),
            first: 7,
            commit: commit.map(str::to_owned),
        }),
        text: "a\nb Wexelmoor".to_owned(),
    };
    let texts = vec![
        lines("a.rs", None),
        lines("src/wexelmoor/tblix4242.rs", Some("3f2a91c")),
        Passage::of_path(Path::new("src/tblix4242.rs")).into(),
        Text {
            place: Some(Place::Branch("wexelmoor".to_owned())),
            text: "wexelmoor".to_owned(),
        },
        Text {
            place: Some(Place::TagMessage("wexelmoor".to_owned())),
            text: "tblix4242".to_owned(),
        },
        Text {
            place: Some(Place::Message("3f2a91c".to_owned())),
            text: "tblix4242".to_owned(),
        },
    ];
    let end = Instant::now() + Duration::from_secs(60);
    let looked = Comparison {
        findings: list.findings(&texts, end).unwrap(),
        scanned: Scanned {
            texts,
            commits: 1,
            repository: None,
        },
        lists: vec![list],
        is_json,
        reader,
    };
    assert_eq!(
        looked.scanned.in_words(),
        "4 added lines in 2 files, 1 commit"
    );
    let hidden = looked.hidden_paths().unwrap();
    let findings = looked.findings.iter();
    findings
        .map(|finding| looked.line_of(finding, &hidden))
        .collect()
}

#[test]
fn a_person_reads_where_it_is_and_anybody_else_no_name_that_is_a_value() {
    assert_eq!(
        shown(Reader::Person, false),
        [
            "a.rs:8:3  Theo Blix",
            "src/wexelmoor/tblix4242.rs:8:3 of 3f2a91c  Theo Blix",
            "name of src/tblix4242.rs  Codes",
            "name of branch wexelmoor  Theo Blix",
            "message of tag wexelmoor  Codes",
            "message of 3f2a91c  Codes",
        ]
    );
    assert_eq!(
        shown(Reader::Anybody, false),
        [
            "a.rs:8:3  rule 1",
            "a file in src:8:3 of 3f2a91c  rule 1",
            "name of a file in src  Codes",
            "name of a branch  rule 1",
            "message of a tag  Codes",
            "message of 3f2a91c  Codes",
        ]
    );
    assert_eq!(
        shown(Reader::Anybody, true)[1],
        r#"{"column":3,"line":8,"place":"a file in src","rule":"rule 1"}"#
    );
}

#[test]
fn of_a_path_what_is_above_the_value_is_shown() {
    for (path, column, shown) in [
        ("a/b/c.rs", 5, "a file in a/b"),
        ("a/b/c.rs", 4, "a file in a"),
        ("a/b/c.rs", 3, "a file in a"),
        ("a/b/c.rs", 1, "a file at the top"),
    ] {
        assert_eq!(without_value(Path::new(path), column), shown);
    }
}
