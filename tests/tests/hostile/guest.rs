//! A component that attacks, in the same host as the real guest.
//!
//! The attacks themselves are in `tests/hostile/src/`. This list says what each of
//! them may get, and no more.

use super::{
    ground::{CANARY, Ground, SOON, component},
    table::Section,
};
use keyhole_core::{Code, limits::Limits};
use keyhole_tests::PATIENCE;

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

/// What an attack may get.
enum Promise {
    /// It ends, and the guest reports this.
    Reports(&'static str),
    /// The caller gets this code, and nothing of what the guest had.
    Refused(Code),
}
use Promise::{Refused, Reports};

/// Makes three things from the list: an enum, so that a missing promise does not
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
        // The host says `not-permitted` about everything that is not granted, whether
        // it exists or not.
        Attack::parent_paths => Reports("40 not-permitted"),
        Attack::absolute_paths => Reports("22 not-permitted"),
        Attack::proc_self => Reports("20 not-permitted"),
        Attack::symbolic_links | Attack::symbolic_links_unfollowed => Reports("7 not-permitted"),
        Attack::directory_links => Reports("16 not-permitted"),
        Attack::trailing_slashes => Reports("100 not-permitted"),
        Attack::link_loops | Attack::subdirectory | Attack::neighbour_file => {
            Reports("12 not-permitted")
        }
        Attack::odd_names => Reports("18 not-permitted"),
        Attack::prefix_sibling
        | Attack::other_keys_directory
        | Attack::the_map
        | Attack::below_the_file => Reports("8 not-permitted"),
        Attack::stat_outside => Reports("26 not-permitted"),
        Attack::read_link_targets => Reports("5 not-permitted"),
        Attack::link_inside => Reports("2 not-permitted"),
        Attack::own_directory => Reports("not-permitted"),
        Attack::otherwise_opened => Reports("11 not-permitted"),
        // For the granted name, and for the file that it opened.
        Attack::access_times => Reports("2 no time, 2 not-permitted"),
        Attack::about_the_file => Reports("1 1 link, 11 not-permitted, 2 same: false"),
        Attack::find_other_keys => Reports("1 granted.md (its own), 9 nothing"),
        // It found nothing: otherwise its refusal would be another. Without a grant,
        // the host does not even pass on the guest's own text.
        Attack::without_grant => Refused(Code::Internal),

        Attack::create_file => Reports("6 not-permitted"),
        Attack::truncate_file | Attack::write_file | Attack::rename_file | Attack::unlink_file => {
            Reports("4 not-permitted")
        }
        Attack::link_file
        | Attack::symlink_file
        | Attack::make_directory
        | Attack::remove_directory
        | Attack::mutate_directory => Reports("3 not-permitted"),
        Attack::set_times => Reports("5 not-permitted"),
        Attack::write_outside => Reports("7 not-permitted"),

        Attack::endless_loop | Attack::endless_calls | Attack::endless_read => {
            Refused(Code::TimedOut)
        }
        Attack::blocked_open => Reports("not-permitted"),
        Attack::memory_step_by_step
        | Attack::memory_at_once
        | Attack::file_handles
        | Attack::preopen_handles
        | Attack::huge_path
        | Attack::huge_key
        | Attack::long_answer
        | Attack::trap_in_the_middle => Refused(Code::Internal),
        Attack::endless_lists => Reports("10000 not-permitted"),
        Attack::thousands_of_opens => Reports("3000 read \"granted\""),
        Attack::huge_read => Reports("2 its own file, 3 nothing"),
        Attack::state_between_calls => Reports("0 calls before this one"),
    }
}

/// Lets the guest attack twice, because it might have learned something from the first
/// attack, and returns what it got.
fn attack(name: &str, promise: Promise) -> String {
    let max_bytes = if name == "long_answer" { 100 } else { 1 << 20 };
    let keys = [(name, max_bytes), ("honest", 1 << 20)];
    let ground = Ground::new(keys.into_iter().filter(|(key, _)| *key != "without_grant"));
    let deadline = match promise {
        Refused(Code::TimedOut) => SOON,
        _ => PATIENCE,
    };
    let limits = Limits {
        deadline,
        ..Limits::default()
    };
    let loader = ground.attacked_by(&component(IMAGE).unwrap(), limits);
    let before = ground.state();
    for _ in 0..2 {
        match (ground.load(&loader, name), &promise) {
            (Ok(text), Reports(report)) => {
                assert!(!text.contains(CANARY) && !text.contains("root:"), "{text}");
                assert_eq!(text, *report);
            }
            (Err(code), Refused(expected)) => assert_eq!(code, *expected),
            (got, _) => panic!("{got:?}"),
        }
        ground.is_served(&loader, "honest");
    }
    assert_eq!(ground.state(), before);
    match promise {
        Reports(report) => report.to_owned(),
        Refused(code) => format!("`{}`", code.as_str()),
    }
}
