# shellcheck shell=sh
# Packages of the programs, for npm, PyPI, Homebrew, winget and containers. ./x reads
# this file, and has the functions that are missing here.

# Makes the packages from the plugin's package in $1, in $2.
pack() {
    packer=$(python 9)
    [ -n "$packer" ] || die "Python 3.9 or newer is missing, which packs"
    "$packer" packaging/packages "$1" "$2"
}

# Installs each package of the package in $1 from the packed files, in a fresh home and
# without a network. Without $1, packs the tested program, and a static one if ./x cross
# has built it.
installs() {
    python=$(python 11)
    if [ -z "$python" ]; then
        echo "skipped: installs of the packages (no Python 3.11 or newer)"
        return
    fi
    if [ -n "${1-}" ]; then
        KEYHOLE_DIST=$1
    else
        KEYHOLE_DIST=${CARGO_TARGET_DIR:-target}/installs/dist
        unpackaged=${CARGO_TARGET_DIR:-target}/installs/servers
        rm -rf "$unpackaged" "$KEYHOLE_DIST"
        mkdir -p "$unpackaged"
        cargo build --quiet --locked -p keyhole
        # Without symbols, which are most of an unoptimised program.
        strip -o "$unpackaged/$(server_name "$(rustc --print host-tuple)")" "${CARGO_TARGET_DIR:-target}/debug/keyhole"
        static=$(built "$ARM64" debug)
        if [ ! -e "$static" ] || [ -e "$unpackaged/$(server_name "$ARM64")" ]; then
            echo "skipped: installs of an arm64 image (./x cross has built none)"
        else
            cp "$static" "$unpackaged/$(server_name "$ARM64")"
        fi
        dist --quick --servers "$unpackaged" --out "$KEYHOLE_DIST"
    fi
    mkdir -p "${CARGO_TARGET_DIR:-target}/installs"
    KEYHOLE_PACKAGES=$(cd "${CARGO_TARGET_DIR:-target}/installs" && pwd)/packages
    pack "$KEYHOLE_DIST" "$KEYHOLE_PACKAGES"
    KEYHOLE_DIST=$(cd "$KEYHOLE_DIST" && pwd)
    KEYHOLE_AS_ARM64=
    if [ -e "$KEYHOLE_DIST/plugin/server/$(server_name "$ARM64")" ] && [ "$(uname -s)" = Linux ] &&
        can_run_arm64 "installs of an arm64 image" && [ -n "$as_arm64" ]; then
        KEYHOLE_AS_ARM64=$PWD/packaging/as-arm64.sh
    fi
    KEYHOLE_PYTHON_TOOLS=$(python_tools)
    export KEYHOLE_DIST KEYHOLE_PACKAGES KEYHOLE_AS_ARM64 KEYHOLE_PYTHON_TOOLS
    # An install mostly waits.
    (cd tests/packages && printf '%s\n' test_*.py | xargs -n 1 -P 4 "$python" -m unittest -v)
}

# Prints where uv and pipx are, in the pinned versions; nothing if they cannot be
# installed.
python_tools() {
    mkdir -p "${CARGO_TARGET_DIR:-target}"
    venv=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/installs/python
    pinned=tests/packages/requirements.txt
    if ! cmp -s $pinned "$venv/installed.txt"; then
        "$python" -m venv --clear "$venv" >&2 &&
            "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r $pinned >&2 &&
            cp $pinned "$venv/installed.txt" || return 0
    fi
    echo "$venv/bin"
}
