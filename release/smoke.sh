#!/bin/sh
# smoke.sh PROGRAM NAME SYSTEM: checks that a server works at all, on a system that
# `uname -sm` calls SYSTEM and the plugin NAME.
set -eu
program=$1 name=$2 system=$3
root=$(cd "$(dirname "$0")/.." && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
fail() {
    echo "smoke: $1" >&2
    exit 1
}

mkdir -p "$home/.config/keyhole" "$home/notes" "$home/bin" "$home/plugin/server"
printf '# A\n' >"$home/notes/a.md"
printf 'roots = ["~/notes"]\n[keys]\n"k-2c1f8a96d0e34b57" = "~/notes/a.md"\n' >"$home/.config/keyhole/context-map.toml"
chmod -R go-w "$home"

run() { env -i HOME="$home" PATH="$home/bin:$PATH" "$@"; }

# Five calls with the key, five with other keys.
calls() {
    echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"smoke","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    for id in 1 2 3 4 5 6 7 8 9 10; do
        key=k-2c1f8a96d0e34b57
        [ $id -le 5 ] || key=k-0000000000000000000$id
        echo '{"jsonrpc":"2.0","id":'$id',"method":"tools/call","params":{"name":"load_context","arguments":{"key":"'$key'"}}}'
    done
}
answered() { calls | run "$@"; }
# Does all of it again, ten times at most, if an answer says to call again: on a busy machine
# under an emulator, a call may take longer than it may.
patiently() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        status=0
        "$@" >"$home/answers" || status=$?
        grep -qE '"text":"(timed-out|busy): ' "$home/answers" || break
        echo "smoke: attempt $attempt was too slow" >&2
    done
    return $status
}
serves() {
    patiently answered "$@" || fail "$1 failed"
    [ "$(grep -c '"text":"# A\\n"' "$home/answers")" = 5 ] || fail "not five documents: $(cat "$home/answers")"
    [ "$(grep -c 'unknown-key' "$home/answers")" = 5 ] || fail "not five refusals: $(cat "$home/answers")"
}

# ELF files of the third kind can be loaded at any address.
if [ "$(od -An -tx1 -N4 "$program" | tr -d ' ')" = 7f454c46 ]; then
    [ "$(od -An -tx1 -j16 -N1 "$program" | tr -d ' ')" = 03 ] || fail "$program is not position independent"
fi
run "$program" --version
run "$program" check >"$home/check" || fail "check: $(cat "$home/check")"
grep -q '1 would be served' "$home/check" || fail "check: $(cat "$home/check")"
tail -n 1 "$home/check"
serves "$program" serve
# What reads a list has given its rights up, so each of its system calls counts.
printf '# Name\n- Quillfeather\n' >"$home/list.md"
printf 'by Quillfeather\n' >"$home/text"
status=0
run "$program" scan --list "$home/list.md" "$home/text" >"$home/findings" || status=$?
[ $status = 1 ] && grep -qF "$home/text:1:4  Name" "$home/findings" || fail "scan: $status $(cat "$home/findings")"

printf '#!/bin/sh\necho "%s"\n' "$system" >"$home/bin/uname"
chmod 755 "$home/bin/uname"
cp "$root/plugin/start.sh" "$home/plugin/"
cp "$program" "$home/plugin/server/$name"
(cd "$home/plugin" && sha256sum "server/$name" >manifest.sha256)
run sh "$home/plugin/start.sh" "$home/data" install || fail "the launcher installs nothing"
serves sh "$home/plugin/start.sh" "$home/data" serve
echo "smoke: $name: check, ten calls, a scan, and the same by the plugin's launcher"
