//! `keyhole contract`: what the component in this program imports and exports.

use keyhole_core::{
    hex,
    sandbox::{COMPONENT, COMPONENT_WIT},
};
use sha2::{Digest, Sha256};

/// The component's imports and exports as valid WIT, behind its size and its SHA-256.
pub(crate) fn wit() -> String {
    format!(
        "// The component in this program: {} bytes\n// sha256:{}\n\n{COMPONENT_WIT}",
        COMPONENT.len(),
        hex(&Sha256::digest(COMPONENT)),
    )
}
