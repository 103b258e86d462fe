//! What a list finds, and where.

use super::{BYTES_AT_ONCE, Finding, List, MAX_LINE_BYTES, Text};
use crate::error::Uncompared;
use keyhole_core::Refusal;
use keyhole_outgoing::{Place, Uncollected};
use std::time::{Duration, Instant};

fn lines(path: &str, first: usize, text: impl Into<String>) -> Text {
    Text {
        place: Some(Place::Lines {
            path: path.into(),
            first,
            commit: None,
        }),
        text: text.into(),
    }
}

fn find(list: &str, texts: &[Text]) -> Result<Vec<Finding>, Uncompared> {
    let end = Instant::now() + Duration::from_secs(60);
    List::new(list.to_owned())?.findings(texts, end)
}

/// Where each finding is, and its rule.
fn found(list: &str, texts: &[Text]) -> Vec<String> {
    let findings = find(list, texts).unwrap();
    let rows = findings.iter().map(|finding| {
        let Finding {
            line, column, rule, ..
        } = finding;
        let path = match &finding.place {
            Some(Place::Lines { path, .. }) => path.to_str().unwrap(),
            _ => "call",
        };
        format!("{path}:{line}:{column} {} {}", rule.number, rule.name)
    });
    rows.collect()
}

const LIST: &str = "# Customers\n- Wexelmoor\n- Blue Door\n\n# Phones\n- 0551 23 40 55\n";

#[test]
fn each_value_is_found_at_its_line_and_column_with_its_heading() {
    let call = Text {
        place: None,
        text: "for blue-door".to_owned(),
    };
    let texts = [
        call,
        lines("a.rs", 14, "let x = 1;\n// für WEXELMOOR, 0551-234055\n"),
        lines("b.rs", 1, "wexelmoors"),
        lines("c.rs", 1, "nothing of it"),
    ];
    let expected = [
        "call:1:5 1 Customers",
        "a.rs:15:8 1 Customers",
        "a.rs:15:19 2 Phones",
        "b.rs:1:1 1 Customers",
    ];
    assert_eq!(found(LIST, &texts), expected);
}

#[test]
fn a_list_and_a_text_may_have_a_byte_order_mark_and_any_ends_of_lines() {
    let list = format!("\u{feff}{}", LIST.replace('\n', "\r\n"));
    let texts = [lines("a", 1, "\u{feff}x\r\nWexelmoor\r\n")];
    assert_eq!(found(&list, &texts), ["a:2:1 1 Customers"]);
}

#[test]
fn no_value_is_found_half_in_one_text_and_half_in_the_next() {
    let texts = [lines("a", 1, "x Blue"), lines("b", 1, "Door x")];
    assert_eq!(found(LIST, &texts), [""; 0]);
    let texts = [lines("a", 1, "x Blue\nDoor x")];
    assert_eq!(found(LIST, &texts), ["a:1:3 1 Customers"]);
}

#[test]
fn a_long_text_is_compared_to_its_end() {
    let filler = "nothing of it\n".repeat(BYTES_AT_ONCE / 10);
    let texts = [lines("a", 1, format!("{filler}Wexelmoor\n"))];
    let line = BYTES_AT_ONCE / 10 + 1;
    assert_eq!(found(LIST, &texts), [format!("a:{line}:1 1 Customers")]);
}

#[test]
fn columns_go_on_from_value_to_value_and_begin_anew_in_each_line() {
    let texts = [lines("a", 1, "é Wexelmoor é Wexelmoor\né Wexelmoor")];
    let expected = [
        "a:1:3 1 Customers",
        "a:1:15 1 Customers",
        "a:2:3 1 Customers",
    ];
    assert_eq!(found(LIST, &texts), expected);
}

#[test]
fn a_list_in_which_no_value_is_found_is_not_compared() {
    for list in ["", "\n", "# Customers\n", "# Customers\n- the\n- 12\n"] {
        assert_eq!(find(list, &[]), Err(Uncompared::NoValues), "{list}");
    }
    assert_eq!(
        List::new(LIST.to_owned()).map(|list| list.rule_count),
        Ok(2)
    );
}

#[test]
fn what_takes_too_long_is_not_compared() {
    let list = List::new(LIST.to_owned()).unwrap();
    let texts = [lines("a", 1, "Wexelmoor")];
    assert_eq!(list.findings(&texts, Instant::now()), Err(Uncompared::Late));
    let texts = [lines("a", 1, "x".repeat(MAX_LINE_BYTES + 1))];
    assert_eq!(find(LIST, &texts), Err(Uncollected::TooMuch.into()));
}

#[test]
fn each_reason_says_its_code_and_what_to_do() {
    for (why, code) in [
        (Refusal::NotFound.into(), "not-found"),
        (Uncollected::Reftable.into(), "reftable"),
        (Uncompared::NoValues, "no-values"),
        (Uncompared::NoList, "no-list"),
        (Uncompared::Unreadable, "list-unreadable"),
        (Uncompared::File, "file-unreadable"),
        (Uncompared::NoRepository, "no-repository"),
        (Uncompared::Late, "too-slow"),
    ] {
        assert_eq!(why.code(), code);
        assert!(why.to_string().starts_with(&format!("{code}: ")), "{why}");
        assert!(why.to_string().ends_with('.'), "{why}");
    }
}
