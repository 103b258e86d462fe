//! What the tool says of itself.

use crate::tool;
use keyhole_core::Refusal;

#[test]
fn the_description_names_every_code_that_is_worth_calling_again() {
    let description = tool::general().description.unwrap();
    for code in Refusal::ALL {
        assert_eq!(
            description.contains(&format!("`{}`", code.as_str())),
            code.advice().to_lowercase().contains("call again"),
            "{code:?}"
        );
    }
}
