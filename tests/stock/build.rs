//! Precompiles Keyhole's component, as the host's build script does, so that the test needs
//! no compiler.

use keyhole_componentize::precompile;
use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    // The host's build script says where it is.
    let guest = env::var("DEP_KEYHOLE_GUEST_COMPONENT")?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={guest}");
    let image = precompile(&fs::read(guest)?, &env::var("TARGET")?)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("guest.image"), image)?;
    Ok(())
}
