//! A hostile guest and a hostile world get nothing, and stop nothing.
//!
//! Every attack is a test of its own and a line in attacks.md; both come from one
//! list. Each test asserts two things: what the attack got, and that the next honest call
//! is served.

mod beyond;
pub(crate) mod ground;
mod guest;
mod imports;
mod map;
mod names;
mod shapes;
mod swaps;
mod table;
mod tree;

/// What an attack by the world got, or why it cannot run here.
type Outcome = Result<String, &'static str>;

/// Makes a section of the table from a list of attacks, and a test for each. An attack's
/// expression says what the attack got, which must be what is promised before it.
macro_rules! world_attacks {
    ($heading:literal; $($name:ident: $about:literal => $promise:literal = $attack:expr;)*) => {
        pub(super) const SECTION: super::table::Section =
            ($heading, &[$([stringify!($name), $about, $promise]),*]);

        $(#[test]
        fn $name() {
            let attack = || -> super::Outcome { $attack };
            match attack() {
                Ok(got) => assert_eq!(got, $promise),
                Err(why) => keyhole_tests::skipped(why),
            }
        })*
    };
}
use world_attacks;
