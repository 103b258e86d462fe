//! A component that attacks, in the same host as the real guest.
//!
//! The attacks themselves are in `tests/hostile/src/`. Here stands what each of
//! them may get, and no more.

use super::{
    ground::{CANARY, GRANTED, Ground, SOON, component},
    table::Section,
};
use keyhole::{Code, limits::Limits};
use std::time::Duration;

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

/// What an attack may get.
enum Promise {
    /// It comes to an end, and this is what the guest says of it.
    Reports(&'static str),
    /// The caller gets this code, and nothing of what the guest had.
    Refused(Code),
}
use Promise::{Refused, Reports};

/// Makes of the list an enum, so that a promise that is missing does not
/// compile; the sections of the table; and a test for each attack.
macro_rules! attacks {
    ($($module:ident { $($name:ident: $about:literal;)* })*) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, reason = "the names are those of the attacks")]
        enum Attack { $($($name),*),* }

        $(mod $module {
            pub(super) const ATTACKS: &[(&str, &str)] = &[$((stringify!($name), $about)),*];

            $(#[test]
            fn $name() {
                let got = super::attack(stringify!($name), super::promise(super::Attack::$name));
                super::section(stringify!($module)).record(stringify!($name), &got);
            })*
        })*
    };
}
include!("../../hostile/src/registry.rs");

pub(super) const READS: Section = Section {
    heading: "A guest that wants to read",
    attacks: reads::ATTACKS,
};
pub(super) const WRITES: Section = Section {
    heading: "A guest that wants to write",
    attacks: writes::ATTACKS,
};
pub(super) const RESOURCES: Section = Section {
    heading: "A guest that wants to exhaust the host",
    attacks: resources::ATTACKS,
};

fn section(module: &str) -> Section {
    match module {
        "reads" => READS,
        "writes" => WRITES,
        _ => RESOURCES,
    }
}

fn promise(attack: Attack) -> Promise {
    match attack {
        _ => Reports("?"),
    }
}

/// Lets the guest attack twice, as it might have learned something, and gives
/// what it got.
fn attack(name: &str, promise: Promise) -> String {
    let max_bytes = if name == "long_answer" { 100 } else { 1 << 20 };
    let keys = [(name, max_bytes), ("honest", 1 << 20)];
    let ground = Ground::new(keys.into_iter().filter(|(key, _)| *key != "without_grant"));
    let deadline = match promise {
        Refused(Code::TimedOut) => SOON,
        // Generous: nothing is measured.
        _ => Duration::from_secs(60),
    };
    let limits = Limits { deadline, ..Limits::default() };
    let loader = ground.attacked_by(&component(IMAGE), limits);
    let before = ground.state();
    let honest = || {
        let text = ground.load(&loader, "honest").unwrap();
        assert!(text.starts_with(GRANTED), "{text}");
    };

    for _ in 0..2 {
        match (ground.load(&loader, name), &promise) {
            (Ok(text), Reports(report)) => {
                assert!(!text.contains(CANARY) && !text.contains("root:"), "{text}");
                assert_eq!(text, *report);
            }
            (Err(code), Refused(expected)) => assert_eq!(code, *expected),
            (got, _) => panic!("{got:?}"),
        }
        honest();
    }
    assert_eq!(ground.state(), before);
    match promise {
        Reports(report) => report.to_owned(),
        Refused(code) => format!("`{}`", code.as_str()),
    }
}
