#!/bin/sh
# Runs the bundle's server for this system.
set -u

fail() {
    printf 'keyhole: %s\n' "$1" >&2
    exit 1
}

system=$(uname -sm)
case $system in
"Linux x86_64") name=keyhole-linux-x86_64 ;;
"Linux aarch64" | "Linux arm64") name=keyhole-linux-aarch64 ;;
"Darwin x86_64") name=keyhole-macos-x86_64 ;;
"Darwin arm64") name=keyhole-macos-aarch64 ;;
*) fail "there is no server for this system ($system)" ;;
esac

server=${0%/*}/server/$name
[ -f "$server" ] || fail "this bundle holds no server for this system ($system); install a release of it"
# A client may unpack the files without their modes.
[ -x "$server" ] || chmod u+x "$server" 2>/dev/null || fail "the bundle's server cannot be made executable"
exec "$server" "$@"
