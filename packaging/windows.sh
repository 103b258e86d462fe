# shellcheck shell=sh
# The program for Windows, built on Linux and run under wine. ./x reads this file, and
# has `has`, `die` and `sum`.

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

# Unoptimised, and without symbols for a debugger.
windows_quick() {
    CARGO_PROFILE_DEV_DEBUG=false cargo "$@"
}

# The crates that have tests of their own there.
ON_WINDOWS="-p keyhole -p keyhole-guest -p keyhole-cases -p keyhole-native"

windows_clippy() {
    windows_tools "clippy for Windows" || return 0
    # shellcheck disable=SC2086 # several
    windows_quick clippy --locked --target "$WINDOWS" $ON_WINDOWS --all-targets -- -D warnings
}

# Debian's wine runs 64-bit programs without the package for 32-bit ones.
wine_tools() {
    wine=/usr/lib/wine/wine64
    [ -x "$wine" ] || wine=$(command -v wine64 || true)
    if [ -z "$wine" ]; then
        { has apt-get && apt-get install -y --no-install-recommends wine64 >&2; } || {
            echo "skipped: $1 (no wine)"
            return 1
        }
        wine=/usr/lib/wine/wine64
    fi
    WINEPREFIX=${CARGO_TARGET_DIR:-$PWD/target}/wine WINEDEBUG=-all
    # Functions that wine 8 lacks.
    WINEPATH=$WINEPREFIX/lacks
    export WINEPREFIX WINEDEBUG WINEPATH
    mkdir -p "$WINEPATH"
    x86_64-w64-mingw32-gcc -shared -O -o "$WINEPATH/bcryptprimitives.dll" \
        packaging/windows/bcryptprimitives.c -ladvapi32
    # Its first start creates a drive, and leaves servers running that keep its streams
    # open.
    "$wine" wineboot --init </dev/null >/dev/null 2>&1
}

windows() {
    windows_tools "the program for Windows" || return 0
    windows_clippy
    windows_quick build --locked --target "$WINDOWS" -p keyhole
    KEYHOLE_WINDOWS=${CARGO_TARGET_DIR:-$PWD/target}/$WINDOWS/debug/keyhole.exe
    export KEYHOLE_WINDOWS
    wine_tools "the tests of the program for Windows" || return 0
    KEYHOLE_WINE=$wine cargo test --locked -p keyhole --test windows
    # The unit tests, and the table of cases: in the sandbox, and natively.
    # shellcheck disable=SC2086 # several
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine windows_quick test --locked --no-fail-fast --target "$WINDOWS" \
        $ON_WINDOWS --lib --test table --test native --test faults
}
