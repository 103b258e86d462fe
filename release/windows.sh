# shellcheck shell=sh
# The program for Windows, built on Linux and run under wine.

WINDOWS=x86_64-pc-windows-gnu

# If there is no compiler for Windows here, prints that $1 is skipped.
windows_tools() {
    has x86_64-w64-mingw32-gcc ||
        { [ "$(uname -s)" = Linux ] && has apt-get &&
            apt-get install -y --no-install-recommends gcc-mingw-w64-x86-64 >&2; } || {
        echo "skipped: $1 (no mingw-w64)"
        return 1
    }
    { has rustup && rustup target add "$WINDOWS" >&2; } || {
        echo "skipped: $1 (rustup cannot fetch Rust's library for Windows)"
        return 1
    }
}

# Unoptimised, and without symbols for a debugger. Clippy is in the compiler's place, and
# the packages are the same each time: so what they depend on is compiled once.
windows_linted() {
    verb=$1
    shift
    # shellcheck disable=SC2086 # several
    CARGO_PROFILE_DEV_DEBUG=false CARGO_ENCODED_RUSTFLAGS=-Dwarnings RUSTC_WORKSPACE_WRAPPER=clippy-driver \
        cargo "$verb" --locked --target "$WINDOWS" $PROGRAM $GUEST "$@"
}

# Debian's wine runs 64-bit programs without the package for 32-bit ones. It emulates no
# processor. If there is none, prints that $1 is skipped.
wine_tools() {
    if [ "$(uname -m)" != x86_64 ]; then
        echo "skipped: $1 (wine runs them on x86-64 only)"
        return 1
    fi
    wine=/usr/lib/wine/wine64
    [ -x "$wine" ] || wine=$(command -v wine64 || true)
    if [ -z "$wine" ]; then
        { has apt-get && apt-get install -y --no-install-recommends wine64 >&2; } || {
            echo "skipped: $1 (no wine)"
            return 1
        }
        wine=/usr/lib/wine/wine64
    fi
    WINEPREFIX=$BUILD/wine WINEDEBUG=-all
    # Functions that wine 8 lacks.
    WINEPATH=$WINEPREFIX/lacks
    export WINEPREFIX WINEDEBUG WINEPATH
    mkdir -p "$WINEPATH"
    x86_64-w64-mingw32-gcc -shared -O -o "$WINEPATH/bcryptprimitives.dll" \
        release/windows/bcryptprimitives.c -ladvapi32
    # Its first start creates a drive, and leaves servers running that keep its streams
    # open.
    "$wine" wineboot --init </dev/null >/dev/null 2>&1 || {
        echo "skipped: $1 (wine does not start)"
        return 1
    }
}

windows() {
    windows_tools "the program for Windows" || return 0
    windows_linted build --all-targets
    KEYHOLE_WINDOWS=$(built "$WINDOWS" debug)
    export KEYHOLE_WINDOWS
    wine_tools "the tests of the program for Windows" || return 0
    "$wine" "${KEYHOLE_WINDOWS%/*}/examples/demo.exe" >/dev/null
    # What `./x test` has built.
    # shellcheck disable=SC2086 # several
    KEYHOLE_WINE=$wine cargo test --locked $TESTED --test windows
    # The unit tests, and the table of cases: in the sandbox, and natively.
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine windows_linted test --no-fail-fast \
        --lib --bins --test table --test native
}
