#!/bin/sh
# Puts the server into the plugin's data folder, if it is not there yet, and
# runs it.
#
#   start.sh DATA install          the SessionStart hook: install, and no more
#   start.sh DATA guard            the PreToolUse hook
#   start.sh DATA serve ARGUMENTS  the MCP server
#   start.sh DATA agents           the module, of whom the map names
#
# The client starts the server beside the SessionStart hook and does not wait
# for the hook, so each of the three installs. Several may do so at once, of
# several versions of the plugin, and any may be killed at any point. Hence: a
# server is named after its own SHA-256 and gets its name only when it is whole,
# and manifest.sha256, which says that all is done, is copied last.
#
# Nothing is printed on standard output, which belongs to the server.
set -u

# The client lets a call pass whose hook exits with 1. Only 2 denies it.
failed=1
if [ "${2-}" = guard ]; then failed=2; fi
temporary=
trap 'if [ -n "$temporary" ]; then rm -f "$temporary"; fi; exit $failed' EXIT
trap 'exit $failed' HUP INT TERM

fail() {
    if [ -n "${data-}" ]; then rm -f "$data/manifest.sha256" 2>/dev/null; fi
    printf 'keyhole: %s\n' "$1" >&2
    exit $failed
}

root=${0%/*}
data=
case ${1-} in
/*) data=$1 ;;
*) fail "the client did not say where the plugin's data folder is" ;;
esac
shift

system=$(uname -sm)
case $system in
"Linux x86_64") name=keyhole-linux-x86_64 ;;
"Linux aarch64" | "Linux arm64") name=keyhole-linux-aarch64 ;;
"Darwin x86_64") name=keyhole-macos-x86_64 ;;
"Darwin arm64") name=keyhole-macos-aarch64 ;;
*) fail "there is no server for this system ($system)" ;;
esac

sum=
while read -r its_sum its_file; do
    if [ "$its_file" = "server/$name" ]; then sum=$its_sum; fi
done 2>/dev/null <"$root/manifest.sha256"
if [ -z "$sum" ]; then
    fail "this copy of the plugin holds no server for this system ($system); install a release of it"
fi
server=$data/keyhole-$sum

sum_of() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

install() {
    # First, so that whatever happens from here on, the next start tries again.
    rm -f "$data/manifest.sha256" 2>/dev/null
    mkdir -p "$data" 2>/dev/null || fail "the plugin's data folder cannot be created"
    # Older versions, and what was killed half way. Not what is of today: it may
    # be in use by a session that began before an upgrade.
    find "$data" \( -name 'keyhole-*' -o -name '*.tmp' \) ! -name "keyhole-$sum" \
        -mtime +0 -exec rm -f {} + 2>/dev/null

    temporary=$data/server.$$.tmp
    cp "$root/server/$name" "$temporary" 2>/dev/null ||
        fail "the server cannot be copied into the plugin's data folder; is the disk full, or the folder read-only?"
    copied=$(sum_of <"$temporary" 2>/dev/null)
    if [ "${copied%% *}" != "$sum" ]; then
        fail "the server in this copy of the plugin is damaged; reinstall the plugin"
    fi
    { chmod 700 "$temporary" && mv -f "$temporary" "$server"; } 2>/dev/null ||
        fail "the server cannot be put into the plugin's data folder"

    temporary=$data/manifest.$$.tmp
    { cp "$root/manifest.sha256" "$temporary" && mv -f "$temporary" "$data/manifest.sha256"; } 2>/dev/null ||
        fail "the plugin's data folder cannot be written to; is the disk full?"
    temporary=
}

# Whole, as far as can be told. A power cut can leave a file without its content:
# hence -s at each start, and the sum at each session's.
is_installed() {
    [ -s "$server" ] && [ -x "$server" ] && cmp -s "$root/manifest.sha256" "$data/manifest.sha256" || return
    [ "${1-}" != install ] && return
    found=$(sum_of <"$server" 2>/dev/null)
    [ "${found%% *}" = "$sum" ]
}

is_installed "$@" || install
if [ "${1-}" = install ]; then
    trap - EXIT
    exit 0
fi
CLAUDE_PLUGIN_DATA=$data
export CLAUDE_PLUGIN_DATA
exec "$server" "$@"
