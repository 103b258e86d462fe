# shellcheck shell=sh
# The first hour on a Mac. Nobody has run a program of ours there, so this runs what was
# only read about, and prints what it saw beside what should come, to paste into an issue.
# It works in a folder of its own in the home, and removes that. It asks before it does
# anything else. It runs in macOS's sh, which is bash 3.2.

mac() {
    [ "$(uname -s)" = Darwin ] || die "this needs macOS"
    case $(uname -m) in arm64) program=keyhole-macos-aarch64 ;; *) program=keyhole-macos-x86_64 ;; esac
    folder=$(cd "${1:-dist}" 2>/dev/null && pwd) && program=$folder/plugin/server/$program && [ -f "$program" ] ||
        die "${1:-dist} has no program for this Mac: run ./x release dist first, or name the folder of a release"
    umask 077
    place=$(mktemp -d "$HOME/.keyhole-mac.XXXXXX")
    document=Documents/${place##*/.}.md
    cloud="Library/Mobile Documents/com~apple~CloudDocs/${place##*/.}.md"
    app=${__CFBundleIdentifier:-com.apple.Terminal}
    trap mac_ends EXIT
    trap 'exit 130' HUP INT TERM
    mkdir "$place/private" "$place/search" "$place/volume"
    for file in "$place/private/a.md" "$place/search/a.md"; do echo a >"$file"; done

    # The commands are also what the text shows, so they name no path but these.
    # shellcheck disable=SC2016 # `step` evaluates them
    {
        step '/, /Users: root:wheel; home: yours, only "deny delete"' \
            'sw_vers; uname -sm; ls -led / /Users ~ ~/Documents'
        step 'from macOS 15 on /sbin/sha256sum; usage, status 1' \
            'type -a sha256sum; echo x | sha256sum -c'
        step 'ad hoc (arm64) or not signed (x86-64), no runtime flag; no com.apple.quarantine' \
            'codesign -dvvv "$program"; codesign --verify "$program"; xattr -l "$program"'
        step 'the version, status 0; 137: signature or Gatekeeper' 'K --version'
        step 'ok, status 0' 'checked private/a.md'
        step 'lines, none of them with /etc/hosts' \
            '(exec 7</etc/hosts; sleep 9 | K serve --map "$place/map.toml") >/dev/null 2>&1 &
sleep 2; lsof -c keyhole | awk "/etc.hosts/ { n++ } END { print NR \" lines, \" n + 0 \" with /etc/hosts\" }"'
        step 'untrusted, by its access list, chmod -N; then ok, status 0' \
            'chmod +a "everyone allow write" "$place/private/a.md"; checked private/a.md
chmod -N "$place/private/a.md"; checked private/a.md'
        step 'untrusted, a second name' \
            'ln "$place/private/a.md" "$place/private/b.md"; checked private/a.md; rm "$place/private/b.md"'
        step 'ok if this macOS has O_SEARCH, else permission-denied' \
            'chmod 311 "$place/search"; checked search/a.md; chmod 755 "$place/search"'
        step 'untrusted, keeps no owners' \
            'hdiutil create -quiet -size 8m -fs ExFAT -volname keyhole "$place/image.dmg"
hdiutil attach -quiet -nobrowse -mountpoint "$place/volume" "$place/image.dmg"
echo a >"$place/volume/a.md"; checked volume/a.md; hdiutil detach -quiet "$place/volume"'
        step 'silent, status 0' 'sh "$folder/plugin/start.sh" "$place/data" install'
        if may "Reset which apps may read Documents for $app, and put a file there for a moment? Deny the first question of macOS, and allow the second"; then
            step 'macOS asks; permission-denied, Privacy & Security; then the same, unasked; then it asks to remove it' \
                'echo a >~/"$document"; tccutil reset SystemPolicyDocumentsFolder "$app"
checked "~/$document"; checked "~/$document"
tccutil reset SystemPolicyDocumentsFolder "$app"; rm ~/"$document" && echo removed'
        fi
        if may "Put a file into iCloud Drive for a minute?"; then
            step 'ok or timed-out; then ok, status 0' \
                'echo a >~/"$cloud"; sleep 60; brctl evict ~/"$cloud"; checked "~/$cloud"; checked "~/$cloud"
rm ~/"$cloud" && echo removed'
        fi
        if may "Install the plugin into your Claude Code? It stays there"; then
            step 'both done' 'claude --version; claude plugin marketplace add "$folder" && claude plugin install keyhole@keyhole'
        fi
        if may "Run ./x test? It builds for minutes"; then
            step 'all tests pass' './x test 2>&1 | tail -n 40'
        fi
    }
}

K() { "$program" "$@"; }

# Checks a map that has this one file.
checked() {
    printf '[keys]\n"keyhole-mac-2c1f8a96d0e34b57" = "%s"\n' "$1" >"$place/map.toml"
    K check --map "$place/map.toml"
}

# Does the commands $2, and notes what came of them beside what should, $1.
step() {
    printf 'x: %s\n' "$2" >&2
    began=$(date +%s)
    seen=$( (set +e; eval "$2") 2>&1 </dev/null) && status=0 || status=$?
    {
        printf '\n```\n%s\n```\n- should: %s\n- saw, status %s, %s s:\n\n```\n' "$2" "$1" "$status" $(($(date +%s) - began))
        printf '%s\n' "$seen" | nameless
        printf '```\n'
    } >>"$place/report"
}

# Whether the user agrees. If not, the text says so.
may() {
    printf '%s [y/N] ' "$1" >&2
    read -r answer || answer=
    [ "$answer" != y ] || return 0
    printf '\nnot done: %s\n' "$1" >>"$place/report"
    return 1
}

# Takes the user's own paths and name out of what was seen.
nameless() {
    literal() { printf %s "$1" | sed 's/[][\.*^$|]/\\&/g'; }
    sed -e "s|$(literal "$place")|PLACE|g" -e "s|$(literal "$folder")|FOLDER|g" -e "s|$(literal "$HOME")|~|g" \
        -e "s|\\([^[:alnum:]]\\)$(literal "$(id -un)")\\([^[:alnum:]]\\)|\\1USER\\2|g" \
        -e 's|/var/folders/[^ ]*/T|TMPDIR|g'
}

# Prints the text, also if the user ends it early, and removes everything.
mac_ends() {
    printf '\nx: Paste this into an issue, with what you saw by hand:\n\n' >&2
    printf '# The first hour on a Mac\n\n`K` is the program, `checked FILE` is `K check` with a map of that file.\n'
    cat "$place/report" 2>/dev/null || true
    cat <<'HAND'

By hand, with the plugin:
- `/keyhole:check` in a session (the agent would be served, no rule is missing):
- "Scan my staged changes with the privacy scanner" (a report):
- `ls -d /private/tmp/claude-* $TMPDIR/claude-*` then (only the first):
- each of the rules `Read(//tmp/claude-*/**)` and `Read(//private/tmp/claude-*/**)` alone (denies; which?):
- the same in Claude Desktop, with the catalog in Documents (permission-denied, and macOS asks nothing):
HAND
    hdiutil detach -quiet "$place/volume" >/dev/null 2>&1 || true
    rm -rf "$place" ~/"$document" ~/"$cloud"
}
