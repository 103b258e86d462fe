//! What is asked, in its words.

use super::{MAX_PASSAGES, Reader, question};
use crate::{compare::Finding, error::Uncompared};
use keyhole_core::Refusal;
use keyhole_outgoing::{Place, Uncollected};
use keyhole_withhold::Rule;

fn finding(place: Option<Place>, rule: &str) -> Finding {
    Finding {
        place,
        line: 14,
        column: 3,
        rule: Rule {
            number: 2,
            name: rule.to_owned(),
            is_telling: true,
        },
    }
}

fn in_file(path: &str, commit: Option<&str>) -> Option<Place> {
    Some(Place::Lines {
        path: path.into(),
        first: 1,
        commit: commit.map(str::to_owned),
    })
}

fn all() -> Vec<Finding> {
    vec![
        finding(in_file("src/fixtures/users.json", None), "Home address"),
        finding(Some(Place::Message("3f2a91c".to_owned())), "Customers"),
        finding(None, "Customers"),
    ]
}

#[test]
fn a_person_reads_three_lines_at_most() {
    let head = "Keyhole: this would publish";
    let judge = "your private list. Only you can judge them:";
    let first = "  src/fixtures/users.json:14  Home address";
    let second = "  message of 3f2a91c  Customers";
    let asked = |number: usize, missed| question(&all()[..number], missed, Reader::Person);
    assert_eq!(asked(0, None), None);
    assert_eq!(
        asked(1, None).unwrap(),
        format!("{head} 1 passage that matches {judge}\n{first}")
    );
    assert_eq!(
        asked(2, None).unwrap(),
        format!("{head} 2 passages that match {judge}\n{first}\n{second}")
    );
    let more = "          (and more: run `keyhole scan` in a terminal)";
    assert_eq!(
        asked(3, None).unwrap(),
        format!("{head} 3 passages that match {judge}\n{first}\n{second}{more}")
    );
    let missed = "          (not all could be compared: not-found)";
    assert_eq!(
        asked(1, Some(Refusal::NotFound.into())).unwrap(),
        format!("{head} 1 passage that matches {judge}\n{first}{missed}")
    );
    let many = vec![finding(None, ""); MAX_PASSAGES];
    assert_eq!(
        question(&many, None, Reader::Person).unwrap(),
        format!(
            "{head} 100 passages or more that match {judge}\n  the call itself  rule 2\n  the call itself  rule 2{more}"
        )
    );
}

#[test]
fn anybody_else_reads_no_place_no_rule_and_no_number() {
    let sentence = "Keyhole: something in what this would publish needs a person's look before it leaves the machine. Do not publish it another way; say to the user: run this in a terminal.";
    for number in 1..=3 {
        for missed in [None, Some(Uncompared::Late)] {
            let asked = question(&all()[..number], missed, Reader::Anybody);
            assert_eq!(asked.as_deref(), Some(sentence));
        }
    }
    assert_eq!(question(&[], None, Reader::Anybody), None);
}

#[test]
fn what_could_not_be_compared_is_told_with_its_code_and_what_to_do() {
    let head = "Keyhole: what this would publish could not be compared with your private list.";
    for (why, says) in [
        (
            Refusal::NotFound.into(),
            "not-found: The mapped file is not there. Restore it, or correct the map.",
        ),
        (
            Uncollected::TooSlow.into(),
            "too-slow: git did not end in time.",
        ),
        (
            Uncompared::NoValues,
            concat!(
                "no-values: Nothing in the list is a value. Write one value a line; ",
                env!("CARGO_PKG_REPOSITORY"),
                "/blob/main/docs/withhold.md says what counts."
            ),
        ),
    ] {
        for reader in [Reader::Person, Reader::Anybody] {
            let asked = question(&[], Some(why), reader);
            assert_eq!(asked, Some(format!("{head} {says}")));
        }
    }
}

#[test]
fn the_launcher_has_the_words_of_a_gate_that_is_late() {
    let launcher = include_str!("../../../../plugin/start.sh");
    let asked = question(&[], Some(Uncompared::Late), Reader::Anybody).unwrap();
    assert!(launcher.contains(&format!("\"{asked}\"}}}}'")), "{asked}");
}

#[test]
fn a_place_is_shown_on_one_line_of_bounded_length() {
    let odd = "a\n\u{202e}\u{1b}[2J";
    let long = "x".repeat(5000);
    for place in [
        in_file(odd, Some("3f2a91c")),
        in_file(&long, None),
        Some(Place::Path(odd.into())),
        Some(Place::Branch(odd.to_owned())),
        Some(Place::TagMessage(long.clone())),
    ] {
        let asked = question(&[finding(place, &long)], None, Reader::Person).unwrap();
        assert_eq!(asked.lines().count(), 2, "{asked}");
        assert!(!asked.contains(['\u{202e}', '\u{1b}']), "{asked}");
        assert!(asked.chars().count() < 300, "{asked}");
    }
    let asked = question(&[finding(in_file(&long, None), "R")], None, Reader::Person);
    assert!(asked.unwrap().ends_with("xx…:14  R"));
    for text in ["\n", "\u{7}"] {
        let asked = question(&[finding(None, text)], None, Reader::Person).unwrap();
        assert_eq!(asked.lines().count(), 2);
    }
}

#[test]
fn each_place_has_its_words() {
    for (place, words) in [
        (in_file("a.rs", Some("3f2a91c")), "a.rs:14 of 3f2a91c"),
        (
            Some(Place::TagMessage("v1".to_owned())),
            "message of tag v1",
        ),
        (Some(Place::Path("a/b".into())), "name of a/b"),
        (Some(Place::Branch("x".to_owned())), "name of branch x"),
    ] {
        let asked = question(&[finding(place, "R")], None, Reader::Person).unwrap();
        assert_eq!(asked.lines().nth(1), Some(&*format!("  {words}  R")));
    }
}
