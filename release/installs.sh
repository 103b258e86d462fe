# shellcheck shell=sh
# Packages of the programs, for npm, PyPI and containers, and what tries them.

# Makes the packages of the programs in the plugin's package $1, and puts them into $2.
pack() {
    packer=$(python 9)
    [ -n "$packer" ] || die "Python 3.9 or newer is missing, which packs"
    "$packer" release/packages "$@"
}

# Packs the programs in the plugin's package $1, and installs each package from what was
# packed, in a fresh home and without a network. Without $1, it takes the programs that
# have been built for the tests.
installs() {
    python=$(python 11)
    if [ -z "$python" ]; then
        echo "skipped: installs of the packages (no Python 3.11 or newer)"
        return
    fi
    place=$BUILD/installs
    mkdir -p "$place"
    if [ $# -eq 0 ]; then
        unoptimised "$place/servers"
        dist --quick --servers "$place/servers" --out "$place/dist"
        set -- "$place/dist"
    fi
    KEYHOLE_DIST=$(cd "$1" && pwd)
    KEYHOLE_PACKAGES=$place/packages
    pack "$KEYHOLE_DIST" "$KEYHOLE_PACKAGES"
    KEYHOLE_AS_ARM64=
    if [ -e "$KEYHOLE_DIST/plugin/server/$(server_name "$ARM64")" ] && [ "$(uname -s)" = Linux ] &&
        can_run_arm64 "installs of an arm64 image" && [ -n "$as_arm64" ]; then
        KEYHOLE_AS_ARM64=$PWD/release/as-arm64.sh
    fi
    KEYHOLE_PYTHON_TOOLS=$(environment tests/packages/requirements.txt "$place/python" "$python" || true)
    export KEYHOLE_DIST KEYHOLE_PACKAGES KEYHOLE_AS_ARM64 KEYHOLE_PYTHON_TOOLS
    # Most of an install is waiting.
    (cd tests/packages && printf '%s\n' test_*.py | xargs -n 1 -P 4 "$python" -m unittest -v)
}

# Puts into $1 the program that the tests use, and the one for arm64 if `cross` has built it.
unoptimised() {
    rm -rf "$1"
    mkdir -p "$1"
    build_alone
    # Without symbols, which are most of an unoptimised program.
    strip -o "$1/$(server_name "$(rustc --print host-tuple)")" "$alone"
    program=$1/$(server_name "$ARM64")
    if [ -e "$program" ]; then return; fi
    cp "$(built "$ARM64" debug)" "$program" 2>/dev/null ||
        echo "skipped: installs of $(server_name "$ARM64") (./x release cross builds it)"
}
