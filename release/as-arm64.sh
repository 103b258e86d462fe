#!/bin/sh
# as-arm64.sh COMMAND...: runs a command in which the kernel starts programs for arm64
# with qemu. It changes nothing outside: since Linux 6.7, each user namespace has its
# own interpreters. If root runs this, all users exist inside as well.
set -eu

if [ "${1-}" = --inside ]; then
    shift
    # Waits until the users are mapped.
    read -r _ <&3
    exec 3<&-
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    # How such a program begins, and which of these bits count. F: the kernel opens qemu
    # now.
    printf '%s' ":keyhole-arm64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$qemu:F" \
        >/proc/sys/fs/binfmt_misc/register
    unset qemu
    exec "$@"
fi

qemu=$(command -v qemu-aarch64-static)
export qemu
folder=$(mktemp -d)
mkfifo "$folder/go"
# A shell gives a background command no input.
exec 5<&0
unshare --user --mount sh "$0" --inside "$@" 3<"$folder/go" <&5 5<&- &
pid=$!
exec 4>"$folder/go" 5<&-
rm -r "$folder"
here=$(readlink /proc/self/ns/user)
until [ "$(readlink /proc/$pid/ns/user)" != "$here" ]; do sleep 0.05; done
if [ "$(id -u)" = 0 ]; then
    echo '0 0 4294967295' >/proc/$pid/uid_map
    echo '0 0 4294967295' >/proc/$pid/gid_map
else
    echo deny >/proc/$pid/setgroups
    echo "0 $(id -u) 1" >/proc/$pid/uid_map
    echo "0 $(id -g) 1" >/proc/$pid/gid_map
fi
echo go >&4
exec 4>&-
wait $pid
