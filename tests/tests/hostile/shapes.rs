//! A component that breaks the rules by which components talk to their host.
//!
//! These components are in `tests/hostile/shapes.wat`.

use super::{
    ground::{Ground, SOON, component},
    table::Section,
};
use keyhole_core::{Code, limits::Limits, sandbox::Sandbox};
use keyhole_tests::PATIENCE;

/// A test for each file that the build script found, and an enum of them, so that a
/// missing promise does not compile.
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
            SECTION.record(stringify!($name), &call(IMAGE, &promise(Shape::$name)));
        })*
    };
}
include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// The outcome for a component.
enum Promise {
    /// It asks for more than any call may have, and is not even loaded.
    NotLoaded,
    /// The caller gets this code, and nothing of what the component returned before.
    Refused(Code),
}
use Promise::{NotLoaded, Refused};

fn promise(shape: Shape) -> Promise {
    match shape {
        Shape::memory_at_start | Shape::table_at_start | Shape::tables_at_start => NotLoaded,
        Shape::start_loop | Shape::realloc_loop | Shape::post_return_loop => {
            Refused(Code::TimedOut)
        }
        // The code for what it tried to find. If it found something, the code would be
        // `internal`.
        Shape::memory_of_other_calls => Refused(Code::NotFound),
        Shape::answer_not_utf8 => Refused(Code::NotUtf8),
        Shape::start_trap
        | Shape::endless_recursion
        | Shape::table_growth
        | Shape::trap
        | Shape::realloc_outside
        | Shape::answer_of_gigabytes
        | Shape::answer_of_all_memory
        | Shape::answer_beyond_memory
        | Shape::answer_over_limit
        | Shape::answer_bad_case
        | Shape::answer_bad_refusal
        | Shape::answer_nowhere
        | Shape::answer_askew
        | Shape::post_return_trap => Refused(Code::Internal),
    }
}

/// Calls the component twice, if it can be loaded, and the real guest after each call.
fn call(image: &'static [u8], promise: &Promise) -> String {
    let ground = Ground::new([("key", 1024)]);
    let limits = Limits {
        deadline: match promise {
            Refused(Code::TimedOut) => SOON,
            _ => PATIENCE,
        },
        ..Limits::default()
    };
    let honest = ground.loader(Sandbox::embedded(limits).unwrap(), limits);
    let Refused(code) = promise else {
        assert!(component(image).is_err());
        ground.is_served(&honest, "key");
        return "not loaded".to_owned();
    };
    let attacked = ground.attacked_by(&component(image).unwrap(), limits);
    for _ in 0..2 {
        assert_eq!(ground.load(&attacked, "key"), Err(*code));
        ground.is_served(&honest, "key");
    }
    format!("`{}`", code.as_str())
}
