#!/bin/sh
# Runs cargo for cargo-auditable. That tells cargo its own path, as the program that runs
# the compiler. Cargo hashes the path into the names of our own crates, and so into the
# program's bytes. Its name alone is the same wherever it was installed.
RUSTC_WORKSPACE_WRAPPER=cargo-auditable exec cargo "$@"
