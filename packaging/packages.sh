# shellcheck shell=sh
# Packages of the programs, for npm, PyPI, Homebrew, winget and containers. ./x reads
# this file, and has the functions that are missing here.

# Makes the packages of the programs in the plugin's package $1, and puts them into $2.
# Those for Windows are made of the programs in $3, if that has any.
pack() {
    packer=$(python 9)
    [ -n "$packer" ] || die "Python 3.9 or newer is missing, which packs"
    [ -e "${3-}/manifest.sha256" ] || set -- "$1" "$2"
    "$packer" packaging/packages "$@"
}

# Packs the programs in the plugin's package $1, and installs each package from what was
# packed, in a fresh home and without a network. The programs for Windows are in $2.
# Without $1, it packs the program that the tests use, a static one if ./x cross has built
# it, and one for Windows if ./x windows has.
installs() {
    python=$(python 11)
    if [ -z "$python" ]; then
        echo "skipped: installs of the packages (no Python 3.11 or newer)"
        return
    fi
    if [ -n "${1-}" ]; then
        KEYHOLE_DIST=$1
        unpackaged=${2-$1-programs}
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
        windows=$(built x86_64-pc-windows-gnu debug)
        if [ -e "$windows" ]; then
            cp "$windows" "$unpackaged/$(server_name x86_64-pc-windows-gnu)"
        else
            echo "skipped: installs of a program for Windows (./x windows has built none)"
        fi
        (cd "$unpackaged" && sum keyhole-* >manifest.sha256)
        dist --quick --servers "$unpackaged" --out "$KEYHOLE_DIST"
    fi
    mkdir -p "${CARGO_TARGET_DIR:-target}/installs"
    KEYHOLE_PACKAGES=$(cd "${CARGO_TARGET_DIR:-target}/installs" && pwd)/packages
    pack "$KEYHOLE_DIST" "$KEYHOLE_PACKAGES" "$unpackaged"
    KEYHOLE_DIST=$(cd "$KEYHOLE_DIST" && pwd)
    KEYHOLE_AS_ARM64=
    if [ -e "$KEYHOLE_DIST/plugin/server/$(server_name "$ARM64")" ] && [ "$(uname -s)" = Linux ] &&
        can_run_arm64 "installs of an arm64 image" && [ -n "$as_arm64" ]; then
        KEYHOLE_AS_ARM64=$PWD/packaging/as-arm64.sh
    fi
    KEYHOLE_WINE=
    if [ -e "$unpackaged/$(server_name x86_64-pc-windows-gnu)" ] && [ "$(uname -s)" = Linux ] &&
        windows_tools "installs of a program for Windows" && wine_tools "installs of a program for Windows"; then
        KEYHOLE_WINE=$wine
    fi
    KEYHOLE_PYTHON_TOOLS=$(python_tools)
    # Without these programs, there is nothing to compare with.
    KEYHOLE_PROGRAMS=$(if [ -d "$unpackaged" ]; then cd "$unpackaged" && pwd; fi)
    export KEYHOLE_DIST KEYHOLE_PROGRAMS KEYHOLE_PACKAGES KEYHOLE_AS_ARM64 KEYHOLE_WINE KEYHOLE_PYTHON_TOOLS
    # Most of an install is waiting.
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
