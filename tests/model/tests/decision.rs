//! The guest's decision in all worlds up to a bound.
#![allow(clippy::print_stdout, reason = "tests")]

use keyhole_model::decision::decide;
use std::time::Instant;

#[test]
fn in_every_world_the_guest_decides_as_the_contract_says() {
    let began = Instant::now();
    let decided = decide(2);
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} worlds, {seconds:.2} s: {:?}",
        decided.worlds, decided.ends
    );
    assert_eq!(decided.differs, None);
    // Every possible end was reached, so the comparison covered each.
    assert_eq!(decided.ends.len(), 10);
}
