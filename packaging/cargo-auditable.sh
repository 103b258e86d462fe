#!/bin/sh
# Cargo, for cargo-auditable, which names itself by its path as what runs the compiler.
# Cargo hashes that into the names of our own crates, and so into the program's bytes. By
# its name alone, it is the same wherever it was installed.
RUSTC_WORKSPACE_WRAPPER=cargo-auditable exec cargo "$@"
