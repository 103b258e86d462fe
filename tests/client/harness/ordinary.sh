#!/bin/sh
# Makes the folder MACHINE all that somebody has who has Rust and a C compiler: no rustup, no
# compiler for musl, no npm. The folder CHECKOUT becomes a copy of this one. The user USER owns
# both, if one is named; then we are root.
#
#   bin      all that PATH has
#   rust     the toolchain, which may be in a folder that only root may enter
#   target   what has been built for tests
#
# usage: ordinary.sh MACHINE CHECKOUT CLIENT [USER]
set -eu
umask 022
machine=$1 checkout=$2 client=$3 user=${4-}
cd "$(dirname "$0")/../../.."
built=${CARGO_TARGET_DIR:-target}/debug

# Links files: another file system needs copies.
link() { cp -al "$@" 2>/dev/null || cp -af "$@"; }
give() { [ -z "$user" ] || chown "$@"; }

# With the times of directories, from which cargo sees whether anything has changed.
tar -c --exclude=target --exclude=node_modules --exclude='./dist*' --exclude=./.git . | tar -x -C "$checkout"

rust=$(rustc --print sysroot)
cd "$machine"
mkdir bin rust target target/debug target/debug/deps
for part in bin lib libexec; do [ ! -e "$rust/$part" ] || link "$rust/$part" rust/; done
link "$client" bin/claude
for tool in ar as awk basename bash cat cc chmod cmp cp cut date dirname env false getconf grep head id ld ln ls mkdir \
    mktemp mv ps readlink rm sed setpriv sh sha256sum sleep sort strip tail touch tr true uname wc which; do
    ! command -v "$tool" >/dev/null || ln -s "$(command -v "$tool")" "bin/$tool"
done
ln -s ../rust/bin/rustc bin/rustc
# What has been built for tests is not optimised, and an optimised build takes minutes. So
# that is the only thing that differs from what README's reader gets.
cat >bin/cargo <<CARGO
#!/bin/sh
[ "\$*" != "build --locked --profile dist -p keyhole" ] || set -- build --locked -p keyhole
exec "$machine/rust/bin/cargo" "\$@"
CARGO
chmod 755 bin/cargo
ln -s debug target/dist

cd "$OLDPWD"
if [ -e "$built/.cargo-lock" ]; then
    # With cargo's own lock, so that nobody is building there meanwhile.
    # shellcheck disable=SC2016 # for the inner shell
    flock "$built/.cargo-lock" sh -c 'cd "$1" && cp -a .fingerprint build "$2" && cp -a deps/*.d "$2/deps/"' sh \
        "$built" "$machine/target/debug"
fi
give -hR "$user:$user" "$machine/target"
give "$user:$user" "$machine"
if [ -e "$built/.cargo-lock" ]; then
    # cargo replaces these, and never writes to them.
    for kind in rlib rmeta so; do link "$built"/deps/*."$kind" "$machine/target/debug/deps/"; done
fi
