//! A component that breaks the rules by which components talk to their host.
//!
//! They are in `tests/hostile/shapes/`, by hand, as no compiler makes them.

use super::{
    ground::{GRANTED, Ground, SOON, component},
    table::Section,
};
use keyhole::{Code, limits::Limits, sandbox::Sandbox};

/// A test for each file that the build script found, and an enum of them, so
/// that a promise that is missing does not compile.
macro_rules! shapes {
    ($($name:ident: $about:literal = $image:expr;)*) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, reason = "the names are those of the files")]
        enum Shape { $($name),* }

        pub(super) const SECTION: Section = Section {
            heading: "A component that breaks the rules",
            attacks: &[$((stringify!($name), $about)),*],
        };

        $(#[test]
        fn $name() {
            static IMAGE: &[u8] = $image;
            SECTION.record(stringify!($name), &call(IMAGE, promise(Shape::$name)));
        })*
    };
}
include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// The code that the caller gets. None of them gets a text out.
fn promise(shape: Shape) -> Code {
    use Shape::*;
    match shape {
        start_loop | realloc_loop | post_return_loop => Code::TimedOut,
        start_trap | endless_recursion | memory_at_start | table_at_start | tables_at_start
        | table_growth | trap | realloc_outside | answer_of_gigabytes | answer_of_all_memory
        | answer_beyond_memory | answer_over_limit | answer_not_utf8 | answer_bad_case
        | answer_bad_refusal | answer_nowhere | answer_askew | post_return_trap => Code::Internal,
    }
}

/// Calls the component twice, and the real guest after each.
fn call(image: &'static [u8], promise: Code) -> String {
    let ground = Ground::new([("key", 1024)]);
    let limits = Limits {
        deadline: SOON,
        ..Limits::default()
    };
    let attacked = ground.attacked_by(&component(image), limits);
    let honest = ground.loader(Sandbox::embedded(limits).unwrap(), limits);
    for _ in 0..2 {
        assert_eq!(ground.load(&attacked, "key"), Err(promise));
        assert!(ground.load(&honest, "key").unwrap().starts_with(GRANTED));
    }
    format!("`{}`", promise.as_str())
}
