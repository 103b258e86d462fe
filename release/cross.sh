# shellcheck shell=sh
# Programs for other systems than this one, tried here as far as that is possible: those
# for macOS are linked and examined, those for Linux on arm64 run under qemu.

ARM64=aarch64-unknown-linux-musl

# The part that CI does: unoptimised programs, one for each system.
cross() {
    cross_tools "programs for other systems" || return 0
    # The code is the same for both processors of macOS. So one of them will do here; a
    # release builds and examines both.
    zig_linted aarch64-apple-darwin --all-targets
    # The tests are those that `./x test` has built.
    # shellcheck disable=SC2086 # several
    KEYHOLE_MACOS=$(built aarch64-apple-darwin debug) cargo test --locked $TESTED --test outside -- macos:: --include-ignored
    zig_quick zigbuild $ARM64 -p keyhole
    arm64_smoke "$(built $ARM64 debug)"
}

# Runs cargo-zigbuild. It does not optimise unless `$optimised` says so, and makes no
# symbols for a debugger.
zig_quick() {
    verb=$1 system=$2
    shift 2
    # shellcheck disable=SC2086 # a command, or none
    MACOSX_DEPLOYMENT_TARGET=$(oldest "$system") CARGO_PROFILE_DEV_DEBUG=false \
        CARGO_PROFILE_DEV_OPT_LEVEL=${optimised:-0} CARGO_ENCODED_RUSTFLAGS=${lints-}$(position_independent "$system") \
        ${before-} cargo-zigbuild "$verb" --locked --target "$system" "$@"
}

# Links the program, with clippy in place of the compiler. So its dependencies are compiled
# once, and not a second time for clippy. It leaves the rest of the workspace out, because
# that would build the tests' own guests as well.
zig_linted() {
    system=$1
    shift
    lints=-Dwarnings
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver
    # shellcheck disable=SC2086 # several
    zig_quick zigbuild "$system" $PROGRAM "$@"
    unset lints RUSTC_WORKSPACE_WRAPPER
}

# Whether programs for arm64 run here. `as_arm64` is what to write before a command.
can_run_arm64() {
    as_arm64=
    [ "$(uname -m)" != aarch64 ] || return 0
    has qemu-aarch64-static ||
        { has apt-get && apt-get install -y --no-install-recommends qemu-user-static >&2; } || {
        echo "skipped: $1 (no qemu-aarch64-static)"
        return 1
    }
    as_arm64="sh release/as-arm64.sh"
    # shellcheck disable=SC2086 # a command
    $as_arm64 true 2>/dev/null || {
        echo "skipped: $1 (no user namespace with interpreters of its own; needs Linux 6.7)"
        return 1
    }
}

arm64_smoke() {
    can_run_arm64 "arm64 smoke" || return 0
    # shellcheck disable=SC2086 # a command
    $as_arm64 sh release/smoke.sh "$1" "$(server_name "$ARM64")" "Linux aarch64"
}

# Runs all Rust tests of an arm64 program: the crates' own tests are built for arm64
# themselves, the tests from outside are built for this machine.
arm64() {
    cross_tools "the arm64 tests" && can_run_arm64 "the arm64 tests" || return 0
    # Unoptimised, a server that starts under qemu on a busy machine takes longer than a
    # call may: then its first call is `timed-out`.
    optimised=1
    zig_quick zigbuild $ARM64 -p keyhole
    KEYHOLE_BIN=$(built $ARM64 debug)
    export KEYHOLE_BIN
    skip=
    while read -r name why; do
        case $name in '' | '#'*) continue ;; esac
        echo "skipped: $name under qemu ($why)"
        skip="$skip --skip $name"
    done <release/not-under-qemu.txt
    failed=
    # These are the program's flags, so that its dependencies are compiled once.
    # shellcheck disable=SC2086 # commands and arguments
    before=$as_arm64 zig_quick test $ARM64 --no-fail-fast $PROGRAM $GUEST \
        --lib --bins --test table --test native "$@" -- $skip || failed=yes
    # shellcheck disable=SC2086 # commands and arguments
    KEYHOLE_EMULATED=yes $as_arm64 cargo test --locked --no-fail-fast $TESTED --test outside "$@" -- $skip || failed=yes
    [ -z "$failed" ] || die "tests of the program for arm64 failed"
}
