//! What must be true of the table as a whole.
#![allow(clippy::unwrap_used, reason = "tests")]

use keyhole_cases::cases;
use std::collections::BTreeSet;

#[test]
fn every_error_of_the_contract_is_in_the_table_or_excepted_and_none_is_both() {
    let cases = cases();
    let errors = cases.iter().filter_map(|case| case.expected().err());
    let mut covered: BTreeSet<_> = errors.collect();
    // No tree of files can cause these: a writer between two steps of a call, a file system
    // that fails, and a denial, since root may run the tests.
    for name in ["changed", "internal", "permission-denied"] {
        assert!(covered.insert(name), "{name} is in the table");
    }
    // What the host says itself of the guest's answer, and the runner in its place.
    assert!(covered.remove("not-utf8"));
    let contract = include_str!("../../../wit/context.wit");
    let (_, rest) = contract.split_once("enum load-error {").unwrap();
    let lines = rest.split('}').next().unwrap().lines().map(str::trim);
    let named = lines.filter(|line| !line.starts_with("//"));
    let named = named.filter_map(|line| line.strip_suffix(','));
    assert_eq!(covered, named.collect());
}
