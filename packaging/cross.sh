# shellcheck shell=sh
# Programs for other systems than this one. ./x reads this file, and has `has`, `die`
# and `sum`. One Linux machine builds everything that a release contains.
#
# `./x dist --all` puts the programs into
# dist-programs/ (OUT-programs/ with `--out OUT`), named as packaging/systems.txt says:
#
#     keyhole-linux-x86_64, -aarch64          static, any Linux
#     keyhole-macos-x86_64, -aarch64          10.12 and newer; 11 and newer, signed ad hoc
#     keyhole-windows-x86_64.exe, -aarch64    10 and newer; the second was never run
#
# and beside them manifest.sha256, with the SHA-256 of each. They are stripped, hold
# the list of their crates (cargo-auditable), and are meant to be the same bytes wherever
# they are built from the same commit: `./x twice` shows whether they are, and the release
# builds all twice and compares. Everything else contains these files unchanged: the
# plugin (dist/), the bundle (dist-bundle/), the release (dist-release/). `./x dist
# --servers dist-programs` packages them again without building.

# A column of packaging/systems.txt, by its number.
systems() {
    awk -v column="$1" '!/^#/ && NF { print $column }' packaging/systems.txt
}

# The name of the program for the system $1. For Linux there is a static one, whatever
# C library this machine has.
server_name() {
    static=$1
    case $1 in *-linux-*) static=${1%-*}-musl ;; esac
    name=$(awk -v target="$static" '!/^#/ && $2 == target { print $1 }' packaging/systems.txt)
    [ -n "$name" ] || die "packaging/systems.txt has no program for $1"
    echo "$name"
}

SYSTEMS=$(systems 2)
ARM64=aarch64-unknown-linux-musl

# Puts zig and cargo-zigbuild into PATH. If this is impossible, prints that $1 is
# skipped.
cross_tools() {
    tools=${CARGO_TARGET_DIR:-$PWD/target}/tools/cross
    if [ "$(uname -s)" != Linux ]; then
        echo "skipped: $1 (needs Linux)"
        return 1
    fi
    if ! has python3 || ! has rustup; then
        echo "skipped: $1 (not installed: Python 3 or rustup)"
        return 1
    fi
    if ! cmp -s packaging/cross.txt "$tools/installed.txt"; then
        python3 -m venv --clear "$tools" >&2 &&
            "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
                -r packaging/cross.txt >&2 &&
            cp packaging/cross.txt "$tools/installed.txt" || {
            echo "skipped: $1 (zig and cargo-zigbuild cannot be installed)"
            return 1
        }
    fi
    PATH=$tools/bin:$PATH
    CARGO_ZIGBUILD_CACHE_DIR=$tools/cache
    export CARGO_ZIGBUILD_CACHE_DIR
    # The crate exacl needs Linux's libacl if the build runs on Linux. For macOS it uses
    # nothing of that library, so an empty one is enough.
    libraries=$tools/cache/cargo-zigbuild/$(cargo-zigbuild --version | sed 's/.* //')/deps
    mkdir -p "$libraries"
    printf '!<arch>\n' >"$libraries/libacl.a"
    # zig's own program for what imported_alike says.
    dlltool=$CARGO_ZIGBUILD_CACHE_DIR/dlltool
    printf '#!/bin/sh\nexec "%s/bin/python3" -m ziglang dlltool "$@"\n' "$tools" >"$dlltool"
    chmod 755 "$dlltool"
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

# A program for Windows on x86-64 imports functions by small libraries. The linker sorts
# those that are made in GNU's way by their paths, which differ on each machine. So the
# crates' own ones in cargo's folder are not used (the first flag): the compiler has all
# of them made, and not by mingw's program where a machine has that (the second one).
imported_alike() {
    case $1 in
        *-windows-gnu) echo "--cfg=windows_raw_dylib$separator-Cdlltool=$dlltool" ;;
    esac
}

# The time at which these sources were committed. Outside of git, the first day that a zip
# file can express, in 1980.
date_of_source() { git log -1 --format=%ct 2>/dev/null || echo 315532800; }

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
    remap "${CARGO_TARGET_DIR:-$PWD/target}" target
    for flag in "$(position_independent "$1")" "$(without_object_files "$1")" "$(imported_alike "$1")"; do
        flags=$flags${flag:+$separator$flag}
    done
    # The linker for Windows writes this date, and not today's. It is not the date of a
    # commit: cargo links nothing again for a commit that changes no source.
    SOURCE_DATE_EPOCH=315532800 MACOSX_DEPLOYMENT_TARGET=$(oldest "$1") CARGO_ENCODED_RUSTFLAGS=$flags \
        CARGO="$PWD/packaging/cargo-auditable.sh" cargo-auditable auditable zigbuild --locked --profile dist -p keyhole --target "$1"
}

# The path of the built program; $2 is the folder of a profile.
built() {
    case $1 in *-windows-*) ending=.exe ;; *) ending= ;; esac
    echo "${CARGO_TARGET_DIR:-$PWD/target}/$1/$2/keyhole$ending"
}

# Builds every program that users run, as for a release, into $1, with a manifest, and
# prints the time of each.
programs() {
    # This comes first: its folder has a Python without zig, which must come later in
    # PATH.
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
        # The target of docs/performance.md, for the program that it measures.
        [ "$target" != x86_64-unknown-linux-musl ] || [ "$size" -le 5000000 ] ||
            die "$(server_name "$target") has more than 5 MB"
    done
    (cd "$1" && sum keyhole-* >manifest.sha256)
}

# Builds the programs for these systems, or for all, in two folders, and compares them.
# Cargo's folder, the tools' and the target's differ too.
twice() {
    tool cargo-auditable 0.7.7
    cross_tools "the programs built twice" || return 0
    # shellcheck disable=SC2086 # several
    [ $# -gt 0 ] || set -- $SYSTEMS
    git diff --quiet HEAD || die "the second build is of what is committed, and here is more: commit first"
    both=${CARGO_TARGET_DIR:-$PWD/target}/twice
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
            export CARGO_HOME="$other/cargo" CARGO_TARGET_DIR="$other/built" PATH="$other/tools:$PATH"
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

# The part that CI does: unoptimised programs, one for each system.
cross() {
    cross_tools "programs for other systems" || return 0
    # All of this code is the same for both processors of macOS, so clippy reads the
    # tests for one of them only.
    zig_linted aarch64-apple-darwin --all-targets
    zig_linted x86_64-apple-darwin
    # The tests are those that `./x test` has built.
    # shellcheck disable=SC2086 # several
    KEYHOLE_MACOS="$(built aarch64-apple-darwin debug) $(built x86_64-apple-darwin debug)" \
        cargo test --locked $TESTED --test outside -- macos::
    zig_quick zigbuild $ARM64 -p keyhole
    arm64_smoke "$(built $ARM64 debug)"
}

# Runs cargo-zigbuild. It does not optimise unless `$optimised` says so, and makes no
# symbols for a debugger.
zig_quick() {
    verb=$1 system=$2
    shift 2
    # shellcheck disable=SC2086 # a command, or none
    MACOSX_DEPLOYMENT_TARGET=$(oldest "$system") CARGO_PROFILE_DEV_DEBUG=false \
        CARGO_PROFILE_DEV_OPT_LEVEL=${optimised:-0} CARGO_ENCODED_RUSTFLAGS=${lints-}$(position_independent "$system") \
        ${before-} cargo-zigbuild "$verb" --locked --target "$system" "$@"
}

# Links the program, with clippy in place of the compiler. So its dependencies are compiled
# once, and not a second time for clippy. It leaves the rest of the workspace out, because
# that would build the tests' own guests as well.
zig_linted() {
    system=$1
    shift
    lints=-Dwarnings
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver
    zig_quick zigbuild "$system" -p keyhole "$@"
    unset lints RUSTC_WORKSPACE_WRAPPER
}

# Whether programs for arm64 run here. `as_arm64` is what to write before a command.
can_run_arm64() {
    as_arm64=
    [ "$(uname -m)" != aarch64 ] || return 0
    has qemu-aarch64-static ||
        { has apt-get && apt-get install -y --no-install-recommends qemu-user-static >&2; } || {
        echo "skipped: $1 (no qemu-aarch64-static)"
        return 1
    }
    as_arm64="sh packaging/as-arm64.sh"
    # shellcheck disable=SC2086 # a command
    $as_arm64 true 2>/dev/null || {
        echo "skipped: $1 (no user namespace with interpreters of its own; needs Linux 6.7)"
        return 1
    }
}

arm64_smoke() {
    can_run_arm64 "arm64 smoke" || return 0
    # shellcheck disable=SC2086 # a command
    $as_arm64 sh packaging/smoke.sh "$1" keyhole-linux-aarch64 "Linux aarch64"
}

# Runs all Rust tests of an arm64 program: the crates' own tests are built for arm64
# themselves, the tests from outside are built for this machine.
arm64() {
    cross_tools "the arm64 tests" && can_run_arm64 "the arm64 tests" || return 0
    # Unoptimised, a server that starts under qemu on a busy machine takes longer than a
    # call may: then its first call is `timed-out`.
    optimised=1
    zig_quick zigbuild $ARM64 -p keyhole
    KEYHOLE_BIN=$(built $ARM64 debug)
    export KEYHOLE_BIN
    skip=
    while read -r name why; do
        case $name in '' | '#'*) continue ;; esac
        echo "skipped: $name under qemu ($why)"
        skip="$skip --skip $name"
    done <packaging/not-under-qemu.txt
    failed=
    # These are the program's flags, so that its dependencies are compiled once.
    # shellcheck disable=SC2086 # commands and arguments
    before=$as_arm64 zig_quick test $ARM64 --no-fail-fast -p keyhole -p keyhole-guest -p keyhole-cases -p keyhole-native \
        --lib --bins --test table --test native --test faults "$@" -- $skip || failed=yes
    # shellcheck disable=SC2086 # commands and arguments
    KEYHOLE_EMULATED=yes $as_arm64 cargo test --locked --no-fail-fast $TESTED --test outside "$@" -- $skip || failed=yes
    [ -z "$failed" ] || die "tests of the program for arm64 failed"
}

# Puts everything that a release consists of into $1-release, from the package in $1.
release() {
    rm -rf "$1-release"
    mkdir -p "$1-release"
    cp "$1-programs"/keyhole-* "$1-bundle/keyhole.mcpb" "$1-bundle/server.json" "$1-release/"
    bill_of_materials >"$1-release/keyhole.cdx.json"
    pack "$1" "$1-packages" "$1-programs" && cp "$1-packages"/* "$1-release/"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(date_of_source)" \
        --transform='s,^\.,keyhole-plugin,' -C "$1" -c . | gzip -n >"$1-release/keyhole-plugin.tar.gz"
    cd "$1-release" || exit
    sum keyhole-plugin.tar.gz >keyhole-plugin.tar.gz.sha256
    # The sums of all files there, computed before the file for them exists.
    sums=$(sum -- *)
    echo "$sums" >SHA256SUMS
    echo "released in $1-release:" *
}

# The list of all crates in CycloneDX, for all systems at once. Like the list in each
# program, it is made from cargo's metadata. That does not tell a crate's features in the
# build from those in the program. So both lists name the compiler, which only the build
# has.
bill_of_materials() {
    tools=${CARGO_TARGET_DIR:-$PWD/target}/tools
    has cargo-cyclonedx || [ -x "$tools/bin/cargo-cyclonedx" ] ||
        cargo install --quiet --locked --root "$tools" cargo-cyclonedx@0.5.9 >&2
    # With a fixed date, the list is the same each time.
    SOURCE_DATE_EPOCH=$(date_of_source) PATH=$tools/bin:$PATH \
        cargo cyclonedx --quiet --manifest-path host/Cargo.toml --format json --spec-version 1.5 \
        --no-build-deps --target all --override-filename keyhole.cdx >&2
    # This removes this machine's path.
    sed "s,path+file://$PWD/,path+file:///keyhole/,g" host/keyhole.cdx.json
    # The tool writes one for each crate of the workspace.
    git ls-files '*Cargo.toml' | sed 's,Cargo.toml$,keyhole.cdx.json,' | xargs rm -f
}
