//! Tells the linker what only programs need.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Drops libraries that a dependency names and nothing uses.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        println!("cargo::rustc-link-arg-bins=-Wl,-dead_strip_dylibs");
    }
}
