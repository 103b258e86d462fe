use super::Limits;

/// docs/refusals.md promises it.
#[test]
fn three_file_systems_can_hang_and_leave_all_that_may_run_to_the_others() {
    let limits = Limits::default();
    assert!(limits.slow >= 3 * limits.running);
}
