# shellcheck shell=sh
# The programs that a release contains, all built on one Linux machine. They are stripped,
# hold the list of their crates (cargo-auditable), and are meant to be the same bytes
# wherever they are built from the same commit: `./x release twice` shows whether they
# are. Everything else in a release contains these files unchanged.

# A column of release/systems.txt, by its number.
systems() {
    awk -v column="$1" '!/^#/ && NF { print $column }' release/systems.txt
}

# The name of the program for the system $1. For Linux there is a static one, whatever
# C library this machine has.
server_name() {
    static=$1
    case $1 in *-linux-*) static=${1%%-*}-unknown-linux-musl ;; esac
    name=$(awk -v target="$static" '!/^#/ && $2 == target { print $1 }' release/systems.txt)
    [ -n "$name" ] || die "release/systems.txt has no program for $1"
    echo "$name"
}

SYSTEMS=$(systems 2)

# Whether the server for $1 can be built here.
can_build() {
    case $1 in
        *-linux-musl)
            # Static, so that it runs on every Linux. wasmtime contains a C file.
            cc=${1%%-*}-linux-musl-gcc
            if ! has "$cc" && [ "${1%%-*}" = "$(uname -m)" ] && [ "$(id -u)" = 0 ] && has apt-get; then
                apt-get install -y --no-install-recommends musl-tools >&2 || true
            fi
            has "$cc" || return ;;
    esac
    has_target "$1"
}

# Puts zig and cargo-zigbuild into PATH. If this is impossible, prints that $1 is
# skipped.
cross_tools() {
    tools=$BUILD/tools/cross
    if [ "$(uname -s)" != Linux ]; then
        echo "skipped: $1 (needs Linux)"
        return 1
    fi
    if ! has python3 || ! has rustup; then
        echo "skipped: $1 (not installed: Python 3 or rustup)"
        return 1
    fi
    environment release/cross.txt "$tools" python3 >/dev/null || {
        echo "skipped: $1 (zig and cargo-zigbuild cannot be installed)"
        return 1
    }
    PATH=$tools/bin:$PATH
    CARGO_ZIGBUILD_CACHE_DIR=$tools/cache
    export CARGO_ZIGBUILD_CACHE_DIR
    # The crate exacl needs Linux's libacl if the build runs on Linux. For macOS it uses
    # nothing of that library, so an empty one is enough.
    libraries=$tools/cache/cargo-zigbuild/$(cargo-zigbuild --version | sed 's/.* //')/deps
    mkdir -p "$libraries"
    printf '!<arch>\n' >"$libraries/libacl.a"
    # shellcheck disable=SC2086 # several
    rustup target add $SYSTEMS >&2 || {
        echo "skipped: $1 (rustup cannot fetch Rust's library for other systems)"
        return 1
    }
}

# The oldest macOS that Rust supports on the system $1; zig would ask for a newer one.
oldest() {
    case $1 in
        *-darwin) rustc --print deployment-target --target "$1" | sed 's/.*=//' ;;
    esac
}

# With this, a static program for Linux is position independent, so that the kernel
# loads it at a random address. zig does this only if told to.
position_independent() {
    case $1 in
        *-linux-musl) echo -Clink-arg=-pie ;;
    esac
}

# The linker for macOS makes the program's identifier (`LC_UUID`) of all that it writes.
# By itself it also writes the paths of object files, which lie in a folder with a random
# name; rustc removes them later, but the identifier has counted them.
without_object_files() {
    case $1 in
        *-darwin) echo -Clink-arg=-Wl,-S ;;
    esac
}

# Builds the program for the system $1, as released. It contains no path of this machine,
# so the same sources give the same bytes in any folder.
cross_build() {
    flags= separator=$(printf '\037')
    remap() { flags=$flags${flags:+$separator}--remap-path-prefix=$1=$2; }
    # If two of these match a path, the last one counts.
    home=${CARGO_HOME:-$HOME/.cargo}
    remap "$home" cargo
    for registry in "$home"/registry/src/*; do remap "$registry" crates; done
    remap "$(rustc --print sysroot)/lib/rustlib/src/rust" "/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"
    remap "$PWD" keyhole
    remap "$BUILD" target
    for flag in "$(position_independent "$1")" "$(without_object_files "$1")"; do
        flags=$flags${flag:+$separator$flag}
    done
    MACOSX_DEPLOYMENT_TARGET=$(oldest "$1") CARGO_ENCODED_RUSTFLAGS=$flags \
        CARGO="$PWD/release/cargo-auditable.sh" cargo-auditable auditable zigbuild --locked --profile dist -p keyhole --target "$1"
}

# The path of the built program; $2 is the folder of a profile.
built() { echo "$BUILD/$1/$2/keyhole"; }

# Builds every program that users run, as for a release, into $1, and prints the time of
# each.
programs() {
    tool cargo-auditable 0.7.7
    cross_tools "programs for all systems" || exit 1
    rm -rf "$1"
    mkdir -p "$1"
    for target in $SYSTEMS; do
        began=$(date +%s)
        cross_build "$target"
        cp "$(built "$target" dist)" "$1/$(server_name "$target")"
        size=$(wc -c <"$1/$(server_name "$target")")
        echo "built: $(server_name "$target"), $size bytes, in $(($(date +%s) - began)) s"
        # So that a dependency that makes the program much larger is seen.
        [ "$target" != x86_64-unknown-linux-musl ] || [ "$size" -le 8000000 ] ||
            die "$(server_name "$target") has more than 8 MB"
    done
}

# Builds the programs for these systems, or for all, in two folders, and compares them.
# Cargo's folder, the tools' and the target's differ too.
twice() {
    tool cargo-auditable 0.7.7
    cross_tools "the programs built twice" || return 0
    # shellcheck disable=SC2086 # several
    [ $# -gt 0 ] || set -- $SYSTEMS
    git diff --quiet HEAD || die "the second build is of what is committed, and here is more: commit first"
    both=$BUILD/twice
    rm -rf "$both"
    mkdir -p "$both/here" "$both/elsewhere"
    other=$(mktemp -d)
    trap 'rm -rf "$other"' EXIT
    trap 'exit 130' INT TERM
    git clone --quiet . "$other/another/place"
    mkdir "$other/cargo" "$other/tools"
    cp "$(command -v cargo-auditable)" "$other/tools/"
    ln -s "${CARGO_HOME:-$HOME/.cargo}"/* "$other/cargo/"
    differ=
    for target; do
        program=$(server_name "$target")
        cross_build "$target"
        cp "$(built "$target" dist)" "$both/here/$program"
        (
            cd "$other/another/place" || exit
            BUILD=$other/built
            export CARGO_HOME="$other/cargo" CARGO_TARGET_DIR="$BUILD" PATH="$other/tools:$PATH"
            cross_build "$target"
            cp "$(built "$target" dist)" "$both/elsewhere/$program"
        )
        if cmp -s "$both/here/$program" "$both/elsewhere/$program"; then
            echo "the same twice: $(cd "$both/here" && sum "$program")"
        else
            echo "not the same twice: $program"
            differ="$differ $program"
        fi
    done
    [ -z "$differ" ] || die "compare $both/here and $both/elsewhere:$differ"
}
