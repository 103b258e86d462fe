//! What `remove` does after somebody changed, moved or linked a file: nothing is left silently.

use super::{Home, User, YES, bind};

/// A run stops at a folder that is read-only, and a second one does not.
#[test]
fn what_a_stopped_run_has_not_written_is_forgotten() {
    let home = Home::new();
    // The record takes nine steps.
    for steps in 8..14 {
        let install = |steps| {
            home.door(steps, |door| {
                door.install(&bind("claude-code", "a"), &mut User::answers(YES))
            })
        };
        install(Some(steps)).unwrap_err();
        install(None).unwrap();
        home.remove("a").unwrap();
        home.has_the_document_alone();
    }
}
