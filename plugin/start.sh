#!/bin/sh
# Runs the plugin's program for this system, from the plugin's own folder. Whoever can
# write there could change this script and the hooks as well.
#
#   start.sh DATA install          the SessionStart hook
#   start.sh DATA guard            the hook before a call; with --after, the one after it
#   start.sh DATA gate             the hook before a call that may publish
#   start.sh DATA hand-over        the hook when the scanner starts
#   start.sh DATA serve ARGUMENTS  the MCP server
#   start.sh DATA agents           the mod: whom does the map name?
#   start.sh DATA withhold         the mod: what quotes a file? With --stop, the hook at an agent's end
#
# `install` compares the plugin's manifest with the copy in the data folder, never a
# version. If they differ, it verifies the program, and copies the manifest last: so an
# install that was cut short is made again. The other commands need no install, because
# the client starts the server together with that hook and does not wait for it.
#
# Nothing in the data folder is run. The program judges the path to that folder, and this
# script writes there only after that.
#
# Standard output belongs to the program. This prints there only for a gate that a signal has ended.
set -u

# If a hook exits with 1, a client before 2.1.295 lets the call pass. 2 denies it everywhere.
failed=1
if [ "${2-}" = guard ]; then failed=2; fi
said=
trap 'said=yes; exit $failed' HUP INT TERM
# Without a process or a descriptor for it, a shell ends here.
trap '[ "$said" ] || fail "the shell could not go on; look above, or raise the limits (ulimit -u, -n)"; exit $failed' EXIT

fail() {
    said=yes
    printf 'keyhole: %s\n' "$1" >&2
    exit $failed
}

# The same, but on Windows, where the data folder may have a Windows path, it says where to go.
unsupported() {
    case $(uname -s) in
    MINGW* | MSYS* | CYGWIN*) fail "Windows: in WSL2, where Linux's walls should stand; we have not run it there" ;;
    esac
    fail "$1"
}

# The gate is asked before each call of a shell. A question without any of these words needs
# no program, which takes longer to start than this.
if [ "${2-}" = gate ]; then
    question=$(cat) || fail "there is no cat, or it cannot read: install it"
    case $question in
    *commit* | *push* | *submit* | *send-email* | *publish* | *upload* | *deploy* | *'gh '* | *glab* | *curl* | *wget* | *scp* | *rsync* | *'"mcp__'*) ;;
    *) trap - EXIT && exit 0 ;;
    esac
fi

root=${0%/*}
CLAUDE_PLUGIN_DATA=${1-}
case $CLAUDE_PLUGIN_DATA in
/*) shift ;;
*) unsupported "the client did not say where the plugin's data folder is" ;;
esac
export CLAUDE_PLUGIN_DATA

# Sets `program` to the one for `system`, and returns whether it is there.
find_program() {
    name=
    case $system in
    "Linux x86_64") name=keyhole-linux-x86_64 ;;
    "Linux aarch64" | "Linux arm64") name=keyhole-linux-aarch64 ;;
    "Darwin x86_64") name=keyhole-macos-x86_64 ;;
    "Darwin arm64") name=keyhole-macos-aarch64 ;;
    *) return 1 ;;
    esac
    program=$root/server/$name
    [ -f "$program" ]
}

sum() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# The manifest's line for the program.
own_sum() {
    while read -r line; do case $line in *"server/$name") echo "$line" ;; esac done <manifest.sha256
}

install() {
    is_same=
    # A FIFO in another user's folder would hang; that it is not theirs is judged below.
    [ -f "$CLAUDE_PLUGIN_DATA/manifest.sha256" ] &&
        cmp -s "$root/manifest.sha256" "$CLAUDE_PLUGIN_DATA/manifest.sha256" 2>/dev/null && is_same=yes
    [ "$is_same" ] || { command -v sha256sum || command -v shasum; } >/dev/null ||
        fail "the program cannot be verified: install sha256sum or shasum, and start a new session"
    # Whoever could have written that copy gains nothing: the program is the plugin's own.
    # Apple's sha256sum needs the operand.
    [ "$is_same" ] || (cd "$root" && own_sum | sum -c -) >/dev/null 2>&1 ||
        fail "the program in this copy of the plugin is damaged, or sha256sum (or shasum) does not run: try it, raise ulimit -u, or reinstall the plugin"
    umask 077
    "$program" tickets
    status=$?
    # A shell reports 126 or more if a program did not start or a signal ended it. On macOS,
    # that is what quarantine and a broken signature look like.
    [ $status -lt 126 ] || fail "the program in this copy of the plugin cannot be run (status $status): it is damaged, or its \
file system is mounted noexec. If this is macOS, run \`xattr -dr com.apple.quarantine FOLDER\` on the folder that you \
added as a marketplace. Then reinstall the plugin"
    # Otherwise the program has said what is wrong.
    [ $status = 0 ] || { said=yes && exit 1; }
    [ "$is_same" ] && return
    copy=$CLAUDE_PLUGIN_DATA/manifest.$$.tmp
    { cp "$root/manifest.sha256" "$copy" && mv -f "$copy" "$CLAUDE_PLUGIN_DATA/manifest.sha256"; } 2>/dev/null || {
        rm -f "$copy" 2>/dev/null
        fail "the plugin's data folder cannot be written to; is the disk full, the folder read-only, a limit set (ulimit -f), or cp or mv missing?"
    }
}

# Linux says what it is without another program, since 6.1.
{ read -r system </proc/sys/kernel/ostype && read -r machine </proc/sys/kernel/arch; } 2>/dev/null &&
    system="$system $machine" && find_program || {
    command -v uname >/dev/null || fail "there is no uname, which says what this system is: install it"
    system=$(uname -sm)
    find_program || {
        [ "$name" ] || unsupported "there is no program for this system ($system)"
        fail "this copy of the plugin holds no program for this system ($system); install a release of it"
    }
}
case $system in
"Linux "*) [ ! -e /system/bin/app_process ] || fail "Android is not supported: its kernel ends programs for calls that this one makes" ;;
esac
[ -s "$program" ] || fail "the program in this copy of the plugin is damaged; reinstall the plugin"
[ -x "$program" ] ||
    fail "server/$name in the plugin's folder may not be run: run chmod u+x on it, or, if its file system is mounted \
noexec, keep the plugin on another"
if [ "${1-}" = gate ]; then
    trap - EXIT
    answer=$(printf '%s' "$question" | "$program" gate)
    status=$?
    # A signal ends a gate that waits too long, or lacks memory. Without an answer, the call passes.
    [ $status -lt 128 ] || { status=0 && answer='{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Keyhole: what this would publish could not be compared with your private list. too-slow: It took too long. Publish less at a time."}}'; }
    printf '%s' "$answer"
    exit $status
fi
# bash would end here, without the trap.
shopt -s execfail 2>/dev/null
[ "${1-}" = install ] || { exec "$program" "$@"; exit; }
install
trap - EXIT
exit 0
