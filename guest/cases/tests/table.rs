//! What must be true of the table as a whole.
#![allow(clippy::unwrap_used, reason = "tests")]

use keyhole_cases::{Case, cases};
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

fn table_errors(cases: &[Case]) -> BTreeSet<&str> {
    cases
        .iter()
        .filter_map(|case| case.expected().err())
        .collect()
}

#[test]
fn names_are_unique() {
    let cases = cases();
    let names: BTreeSet<_> = cases.iter().map(Case::name).collect();
    assert_eq!(names.len(), cases.len(), "a name is used twice");
}

#[test]
fn every_error_of_the_contract_is_in_the_table_or_excepted() {
    let cases = cases();
    let excepted = NOT_IN_THE_TABLE.map(|(name, _)| name);
    let covered: BTreeSet<_> = table_errors(&cases).into_iter().chain(excepted).collect();
    let mut expected = contract_errors();
    assert!(expected.insert(THE_HOSTS_OWN));
    assert_eq!(covered, expected);
}

#[test]
fn no_excepted_error_is_in_the_table() {
    let cases = cases();
    for (name, why) in NOT_IN_THE_TABLE {
        assert!(!table_errors(&cases).contains(name), "{name}: {why}");
    }
}

#[test]
fn every_tree_can_be_built() {
    for case in cases().iter().filter(|case| case.lacks().is_none()) {
        let fresh = tempfile::tempdir().unwrap();
        let root = case.build(fresh.path());
        assert!(root.is_ok(), "{}: {root:?}", case.name());
    }
}
