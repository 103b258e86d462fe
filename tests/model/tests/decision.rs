//! The guest's decision in all worlds up to a bound.

use keyhole_model::decision::decide;

#[test]
fn in_every_world_the_guest_decides_as_the_contract_says() {
    let decided = decide(2);
    assert_eq!(decided.differs, None);
    // Every possible end was reached, so the comparison covered each.
    assert_eq!(decided.ends.len(), 10, "{:?}", decided.ends);
}
