#!/bin/sh
# Installs the server in the plugin's data folder, if it is not there yet, and
# runs it.
#
#   start.sh DATA install          the SessionStart hook: install, and no more
#   start.sh DATA guard            the PreToolUse hook
#   start.sh DATA serve ARGUMENTS  the MCP server
#   start.sh DATA agents           the module, of whom the map names
#
# The client starts the server together with the SessionStart hook and does not
# wait for the hook, so each of these commands installs. Several may do so at
# once, for several versions of the plugin, and any may be killed at any point. So
# a server is named after its own SHA-256 and gets its name only when it is
# complete, and manifest.sha256, which says that everything is done, is copied
# last.
#
# Anyone who can write to the data folder, or to a directory above it, decides
# what runs here with the user's rights. So each start checks the path to the
# folder and makes the folder private, and installs again if the folder was open
# to others. It does not check the plugin's own root: anyone who can write there
# can change this script.
#
# Nothing is printed on standard output, which belongs to the server.
set -u

# If a hook exits with 1, the client lets the call pass. Only 2 denies it.
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

# What the kernel says of this system, without a program. Linux says it since 6.1.
ask_kernel() {
    system=
    machine=
    { read -r system </proc/sys/kernel/ostype && read -r machine </proc/sys/kernel/arch; } 2>/dev/null || return
    system="$system $machine"
}

# Sets `name` to the name of the server for `system`.
name_server() {
    case $system in
    "Linux x86_64") name=keyhole-linux-x86_64 ;;
    "Linux aarch64" | "Linux arm64") name=keyhole-linux-aarch64 ;;
    "Darwin x86_64") name=keyhole-macos-x86_64 ;;
    "Darwin arm64") name=keyhole-macos-aarch64 ;;
    *) return 1 ;;
    esac
}

# Sets `manifest` to the plugin's own, and `sum` to what it has for the server.
find_sum() {
    sum=
    manifest=
    line=
    while IFS= read -r line; do
        manifest=$manifest$line$newline
        if [ "${line##* }" = "server/$name" ]; then sum=${line%% *}; fi
    done 2>/dev/null <"$root/manifest.sha256"
    # The rest after the last line end, if any.
    manifest=$manifest$line
    [ -n "$sum" ]
}

sum_of() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

default=$IFS

# Prints a line for each path: mode, links, owner, group, and more. It does not
# follow a link. `stat` is no use: its options differ between systems.
list() {
    LC_ALL=C ls -ldn "$@" 2>/dev/null
}

# Whether the group $1, which may write to a directory, is this user alone, as on
# systems with umask 002: it has the user's name and no other member.
is_users_own_group() {
    login=$(id -un) && [ "$1" = "$(id -g)" ] && [ "$login" = "$(id -gn)" ] || return
    group=$({ getent group "$1" || grep "^$login:" /etc/group; } 2>/dev/null) || return
    case ${group##*:} in
    '' | "$login") return 0 ;;
    esac
    return 1
}

# Whether only the user and root decide what is at each of these paths. For a link
# its owner counts; the link's target is among the paths as well.
are_closed() {
    lines=$(list "$@") || return
    # On macOS, the mode does not show what an access list allows, and an @ hides
    # the + that stands for a list. A home has a list that only denies.
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

# The same for one path, by its line.
is_closed() {
    [ "${3-}" = "$user" ] || [ "${3-}" = 0 ] || return
    case $1 in
    l* | d????-??-?*) ;;
    # Sticky, like /tmp: nobody can move away what belongs to another user.
    d????????[tT]*) ;;
    # With an access list, the group bits stand for others too.
    *+) return 1 ;;
    d????w??-*) is_users_own_group "$4" ;;
    *) return 1 ;;
    esac
}

# Whether $1 belongs to the user, and nobody else has any right to it. Its mode
# begins with $2. Sets `owner` to its owner.
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

# The same, by its line; the first argument is the beginning of the mode.
is_private_line() {
    [ "${4-}" = "$user" ] || return
    case $2 in
    $1--[-S]--[-T]*) return 0 ;;
    esac
    return 1
}

# Makes the folder $1 private, if everything in it may be the plugin's. Until now
# others could write to it. So it removes the file that says that the server is
# installed, because somebody else may have written that file.
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

# Whether everything is in order, as it usually is. This uses a single `ls`,
# because each program that runs takes as long as the rest of this script. It
# makes the same checks as the functions below. If it cannot decide, above all if
# a link is on the way, it leaves the decision to them.
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
    # The folder of this process: its owner is the user who runs this.
    lines=$(LC_ALL=C ls -ldn /proc/self/. "$@" 2>/dev/null) || return
    are_ready
    ready=$?
    IFS=$default
    set +f
    return $ready
}

# The same, by the lines of `ls`.
are_ready() {
    set -f
    IFS=$newline
    user=
    for line in $lines; do
        case $line in
        # We chose these paths, so the end of a line identifies them.
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

# Creates and checks the folder. From then on, `folder` is its real path, where
# nobody else can put or replace anything.
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
    # On macOS, the folder may have an access list as well.
    [ "${system%% *}" != Darwin ] || are_closed "$real" || fail "$others"
    folder=$real
}

# Removes what earlier versions, and starts that were killed, have left: only
# files with exactly the names given here, and none from today, because a session
# that began before an upgrade may use them.
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
    # This comes first, so that the next start tries again whatever happens from
    # here on.
    rm -f "$folder/manifest.sha256" 2>/dev/null
    clean_up
    # `mv` would move a file into a directory of that name.
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

# Complete, as far as we can tell. A power cut can leave a file without its
# content: so each start checks -s, and each session the sum.
is_installed() {
    is_private "$server" -rwx && [ -s "$server" ] &&
        is_manifest "$folder/manifest.sha256" || return
    [ "${1-}" != install ] && return
    found=$(sum_of <"$server" 2>/dev/null)
    [ "${found%% *}" = "$sum" ]
}

system=
# An installation asks `uname`, and so does a start that finds anything else than a
# server for what the kernel says.
if [ "${1-}" != install ] && ask_kernel && name_server && find_sum && is_ready; then
    folder=$data
else
    asked=$system
    system=$(uname -sm)
    name_server || fail "there is no server for this system ($system)"
    find_sum ||
        fail "this copy of the plugin holds no server for this system ($system); install a release of it"
    if [ "${1-}" != install ] && [ "$system" != "$asked" ] && is_ready; then
        folder=$data
    else
        user=$(id -u) || fail "the system does not say who runs this"
        enter
        server=$folder/keyhole-$sum
        is_installed "$@" || install
    fi
fi
if [ "${1-}" = install ]; then
    trap - EXIT
    exit 0
fi
CLAUDE_PLUGIN_DATA=$folder
export CLAUDE_PLUGIN_DATA
exec "$server" "$@"
