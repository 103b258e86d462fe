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
# Whoever can write to the data folder, or to a directory above it, chooses what
# runs here with the user's rights. So each start judges the way to the folder and
# closes the folder itself, and installs anew what lay in one that was open. The
# plugin's own root is not judged: whoever can write there can change this script.
#
# Nothing is printed on standard output, which belongs to the server.
set -u

# The client lets a call pass whose hook exits with 1. Only 2 denies it.
failed=1
if [ "${2-}" = guard ]; then failed=2; fi
umask 077
temporary=
folder=
trap 'if [ -n "$temporary" ]; then rm -f "$temporary"; fi; exit $failed' EXIT
trap 'exit $failed' HUP INT TERM

fail() {
    if [ -n "$folder" ]; then rm -f "$folder/manifest.sha256" 2>/dev/null; fi
    printf 'keyhole: %s\n' "$1" >&2
    exit $failed
}

root=${0%/*}
newline='
'
data=
case ${1-} in
*"$newline"*) fail "the name of the plugin's data folder holds a line end" ;;
/*) data=${1%/} ;;
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
manifest=
line=
while IFS= read -r line; do
    manifest=$manifest$line$newline
    if [ "${line##* }" = "server/$name" ]; then sum=${line%% *}; fi
done 2>/dev/null <"$root/manifest.sha256"
# What has no line end, if anything.
manifest=$manifest$line
if [ -z "$sum" ]; then
    fail "this copy of the plugin holds no server for this system ($system); install a release of it"
fi
sum_of() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

default=$IFS

# A line for each path: mode, links, owner, group, and more. A link is not
# followed. The options of `stat` differ from system to system.
list() {
    LC_ALL=C ls -ldn "$@" 2>/dev/null
}

# Whether the group $1, which may write to a directory, is this user alone, as
# where the umask is 002: it has the user's name and no other member.
is_users_own_group() {
    login=$(id -un) && [ "$1" = "$(id -g)" ] && [ "$login" = "$(id -gn)" ] || return
    group=$({ getent group "$1" || grep "^$login:" /etc/group; } 2>/dev/null) || return
    case ${group##*:} in
    '' | "$login") return 0 ;;
    esac
    return 1
}

# Whether the user and root alone say what is found at each of these paths. Of a
# link its owner counts; what it leads to is among the paths as well.
are_closed() {
    lines=$(list "$@") || return
    # On macOS, the mode does not tell what an access list allows; an @ hides the +
    # that tells of one. A home has a list that only denies.
    case $system$lines in
    Darwin*[+@]*)
        case $(/bin/ls -lde "$@" 2>/dev/null) in
        '' | *' allow '*) return 1 ;;
        esac
        ;;
    esac
    set -f
    IFS=$newline
    for line in $lines; do
        IFS=$default
        # shellcheck disable=SC2086 # mode, links, owner, group
        is_closed $line || return
    done
    IFS=$default
    set +f
}

# The same of one path, by its line.
is_closed() {
    [ "${3-}" = "$user" ] || [ "${3-}" = 0 ] || return
    case $1 in
    l* | d????-??-?*) ;;
    # Sticky, as /tmp is: nobody can move away what is another's.
    d????????[tT]*) ;;
    # With an access list, the group's bits stand for others too.
    *+) return 1 ;;
    d????w??-*) is_users_own_group "$4" ;;
    *) return 1 ;;
    esac
}

# Whether $1 is the user's own, and nobody else may do anything with it. Its mode
# begins with $2. Says in `owner` whose it is.
is_private() {
    owner=
    line=$(list "$1") || return
    set -f
    # shellcheck disable=SC2086 # mode, links, owner
    set -- "$2" $line
    set +f
    owner=${4-}
    is_private_line "$@"
}

# The same, by its line, behind what its mode begins with.
is_private_line() {
    [ "${4-}" = "$user" ] || return
    case $2 in
    $1--[-S]--[-T]*) return 0 ;;
    esac
    return 1
}

# Closes the folder $1, which is open to others, if all that lies in it may be
# the plugin's. What says that it is installed goes, since it may be another's.
close() {
    for path in "$1"/* "$1"/.[!.]*; do
        case ${path##*/} in
        '*' | '.[!.]*' | keyhole-* | *.tmp | manifest.sha256 | tickets) ;;
        *) fail "the plugin's data folder is open to others and holds what is not the plugin's; remove it" ;;
        esac
    done
    chmod go-rwx "$1" 2>/dev/null && rm -f "$1/manifest.sha256" 2>/dev/null
}

others="others could change the server in the plugin's data folder: it must be yours, each directory above it \
yours or root's, and none of them writable by others; look with ls -ld, and run chmod go-w on what is"

# Whether all is well, as it mostly is: told by one `ls`, since each program that is
# run takes as long as the rest of this script. It asks what is asked below. What it
# cannot tell, a link on the way above all, is left to that.
is_ready() {
    case $system$data/ in
    Linux*/./* | Linux*/../* | Linux*//*) return 1 ;;
    Linux*) ;;
    *) return 1 ;;
    esac
    set -- / "$data" "$data/keyhole-$sum"
    path=${data%/*}
    while [ -n "$path" ]; do
        set -- "$@" "$path"
        path=${path%/*}
    done
    # Of the process that asks: whose it is says who runs this.
    lines=$(LC_ALL=C ls -ldn /proc/self/. "$@" 2>/dev/null) || return
    are_ready
    ready=$?
    IFS=$default
    set +f
    return $ready
}

# The same, by the lines.
are_ready() {
    set -f
    IFS=$newline
    user=
    for line in $lines; do
        case $line in
        # Their names are ours, so the end of a line tells them.
        *" /proc/self/.")
            IFS=$default
            # shellcheck disable=SC2086 # mode, links, owner
            set -- $line
            user=${3-}
            IFS=$newline
            ;;
        esac
    done
    [ -n "$user" ] || return
    found=
    for line in $lines; do
        IFS=$default
        # shellcheck disable=SC2086 # mode, links, owner, group
        case $line in
        l*) return 1 ;;
        *" /proc/self/.") ;;
        -*) is_private_line -rwx $line && found=$found- || return ;;
        *" $data") is_private_line 'd???' $line && found=$found+ || return ;;
        *) is_closed $line || return ;;
        esac
    done
    case $found in
    +- | -+) ;;
    *) return 1 ;;
    esac
    server=$data/keyhole-$sum
    [ -s "$server" ] && is_manifest "$data/manifest.sha256"
}

# Whether the file $1 is the manifest.
is_manifest() {
    its=
    line=
    while IFS= read -r line; do
        its=$its$line$newline
    done 2>/dev/null <"$1"
    [ "$its$line" = "$manifest" ]
}

# Makes and judges the folder. `folder` is its real path from then on, where
# nobody else can put anything, or anything else in its place.
enter() {
    [ -d "$data" ] || mkdir -p "$data" 2>/dev/null ||
        fail "the plugin's data folder cannot be created"
    real=$(cd -P "$data" 2>/dev/null && pwd -P) ||
        fail "the plugin's data folder cannot be entered"
    set -- /
    for path in "${data%/*}" "${real%/*}"; do
        while [ -n "$path" ]; do
            set -- "$@" "$path"
            path=${path%/*}
        done
    done
    if [ -L "$data" ]; then set -- "$@" "$data"; fi
    are_closed "$@" || fail "$others"
    is_private "$real" 'd???' || {
        [ "$owner" = "$user" ] && close "$real" && is_private "$real" 'd???'
    } || fail "$others"
    # Where it may have an access list as well.
    [ "${system%% *}" != Darwin ] || are_closed "$real" || fail "$others"
    folder=$real
}

# Removes what earlier versions, and starts that were killed, have left: files
# with the very names that are given here. Not those of today: a session that
# began before an upgrade may use them.
clean_up() {
    for path in "$folder"/keyhole-* "$folder"/server.*.tmp "$folder"/manifest.*.tmp; do
        part=${path##*/}
        case $part in
        "keyhole-$sum") continue ;;
        keyhole-*)
            part=${part#keyhole-}
            [ ${#part} -eq 64 ] || continue
            ;;
        *)
            part=${part#*.}
            part=${part%.tmp}
            ;;
        esac
        case $part in
        '' | *[!0123456789abcdef]*) continue ;;
        esac
        find "$path" -prune -type f -mtime +0 -exec rm -f {} \; 2>/dev/null
    done
}

install() {
    # First, so that whatever happens from here on, the next start tries again.
    rm -f "$folder/manifest.sha256" 2>/dev/null
    clean_up
    # Into a directory, a file would be moved.
    if [ -d "$server" ] || [ -d "$folder/manifest.sha256" ]; then
        fail "a directory is in the server's place in the plugin's data folder; remove the folder"
    fi

    temporary=$folder/server.$$.tmp
    { rm -f "$temporary" && cp "$root/server/$name" "$temporary"; } 2>/dev/null ||
        fail "the server cannot be copied into the plugin's data folder; is the disk full, or the folder read-only?"
    copied=$(sum_of <"$temporary" 2>/dev/null)
    if [ "${copied%% *}" != "$sum" ]; then
        fail "the server in this copy of the plugin is damaged; reinstall the plugin"
    fi
    { chmod 700 "$temporary" && mv -f "$temporary" "$server"; } 2>/dev/null ||
        fail "the server cannot be put into the plugin's data folder"

    temporary=$folder/manifest.$$.tmp
    { rm -f "$temporary" && cp "$root/manifest.sha256" "$temporary" &&
        mv -f "$temporary" "$folder/manifest.sha256"; } 2>/dev/null ||
        fail "the plugin's data folder cannot be written to; is the disk full?"
    temporary=
}

# Whole, as far as can be told. A power cut can leave a file without its content:
# hence -s at each start, and the sum at each session's.
is_installed() {
    is_private "$server" -rwx && [ -s "$server" ] &&
        is_manifest "$folder/manifest.sha256" || return
    [ "${1-}" != install ] && return
    found=$(sum_of <"$server" 2>/dev/null)
    [ "${found%% *}" = "$sum" ]
}

if [ "${1-}" != install ] && is_ready; then
    folder=$data
else
    user=$(id -u) || fail "the system does not say who runs this"
    enter
    server=$folder/keyhole-$sum
    is_installed "$@" || install
fi
if [ "${1-}" = install ]; then
    trap - EXIT
    exit 0
fi
CLAUDE_PLUGIN_DATA=$folder
export CLAUDE_PLUGIN_DATA
exec "$server" "$@"
