//! What must be true of the table as a whole.
#![allow(clippy::unwrap_used, reason = "tests")]

use keyhole_cases::cases;
use std::collections::BTreeSet;

/// The errors that no tree of files can cause, and why.
const NOT_IN_THE_TABLE: [(&str, &str); 3] = [
    ("changed", "needs a writer between two steps of a call"),
    ("internal", "needs a file system that fails"),
    (
        "permission-denied",
        "root, who may run tests, is denied nothing",
    ),
];

/// What the host says itself of the guest's answer, and the runner in its place.
const THE_HOSTS_OWN: &str = "not-utf8";

/// The cases of the contract's `enum load-error`.
fn contract_errors() -> BTreeSet<&'static str> {
    let contract = include_str!("../../../wit/context.wit");
    let (_, rest) = contract.split_once("enum load-error {").unwrap();
    let (body, _) = rest.split_once('}').unwrap();
    body.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| line.strip_suffix(',').unwrap())
        .collect()
}

#[test]
fn every_error_of_the_contract_is_in_the_table_or_excepted_and_none_is_both() {
    let cases = cases();
    let mut covered: BTreeSet<_> = cases
        .iter()
        .filter_map(|case| case.expected().err())
        .collect();
    for (name, why) in NOT_IN_THE_TABLE {
        assert!(covered.insert(name), "{name} is in the table, and {why}");
    }
    let mut expected = contract_errors();
    assert!(expected.insert(THE_HOSTS_OWN));
    assert_eq!(covered, expected);
}
