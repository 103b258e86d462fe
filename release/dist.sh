# shellcheck shell=sh
# What users install: the plugin, the MCP bundle, and all that a release consists of.

sum() { if has sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# The time at which these sources were committed. Outside of git, the first day that a zip
# file can express, in 1980.
date_of_source() { git log -1 --format=%ct 2>/dev/null || echo 315532800; }

# Everything in the package is copied from here or made here, so that the tested, the
# packaged and the released files are the same. It is made beside $out, which it replaces
# when it is whole: a failure leaves there what was there.
dist() {
    out=dist quick= all= server= servers= auditable=
    while [ $# -gt 0 ]; do
        case $1 in
            --quick) quick=yes && shift ;;
            --all) all=yes && shift ;;
            --auditable) auditable=auditable && shift ;;
            --server) server=${2:?} && shift 2 ;;
            --servers) servers=${2:?} && shift 2 ;;
            --out) out=${2:?} && shift 2 ;;
            *) release_usage >&2 && exit 2 ;;
        esac
    done
    out=${out%/}
    if [ -e "$out" ] && [ ! -e "$out/plugin/manifest.sha256" ]; then
        die "$out is there and is not a package; remove it, or name another place with --out"
    fi
    if [ -n "$quick" ]; then
        build_alone
        server=$alone
    fi
    if [ -n "$all" ]; then
        programs "$out-programs"
        servers=$out-programs
    fi

    mkdir -p "$(dirname "$out")"
    beside=$(mktemp -d "$out.XXXXXX")
    trap 'rm -rf "$beside"' EXIT
    trap 'exit 130' INT TERM
    package=$beside/package
    mkdir -p "$package/plugin/server" "$package/plugin/contract"
    cp -R .claude-plugin "$package/"
    cp -R plugin/. "$package/plugin/"
    cp LICENSE-MIT LICENSE-APACHE LICENSE-SCOWL .gitattributes "$package/plugin/"
    host=$(rustc --print host-tuple)
    name=$(server_name "$host")
    own=$package/plugin/server/$name
    put_servers
    # The packaged server writes it, so it is the interface of the component that this server runs.
    [ -x "$own" ] || die "this machine needs $name, and ${servers:-$server} has none that may be run"
    "$own" contract >"$package/plugin/contract/component.wit"
    cp wit/context.wit "$package/plugin/contract/"
    (cd "$package/plugin" && sum server/* contract/* >manifest.sha256)
    # No link: whoever replaces it must not change the plugin's.
    cp "$own" "$package/keyhole"
    if [ -e "$out" ]; then mv "$out" "$beside/old"; fi
    mv "$package" "$out"
    rm -rf "$beside"
    echo "packaged in $out:" "$out"/keyhole "$out"/plugin/server/*
    # A package that is only for this machine needs no bundle.
    if [ -z "$quick" ] && { [ -n "$servers" ] || [ -z "$server" ]; }; then bundle "$out" "$out-bundle"; fi
    if [ -n "$all" ]; then everything "$out"; fi
}

# Puts the servers into the package that `dist` makes.
put_servers() {
    if [ -n "$servers" ]; then
        cp "$servers"/keyhole-* "$package/plugin/server/"
        chmod 755 "$package"/plugin/server/*
        return
    fi
    if [ -n "$server" ]; then
        # Without symbols, which are most of an unoptimised program. A program for
        # another processor may keep them, because not every `strip` knows that
        # processor.
        strip -o "$own" "$server" 2>/dev/null || cp "$server" "$own"
        return
    fi
    case $host in *linux*) like=linux ;; *) like=darwin ;; esac
    for target in $SYSTEMS; do
        case $target in *"$like"*) ;; *) continue ;; esac
        if can_build "$target"; then
            # shellcheck disable=SC2086 # none or one
            cargo $auditable build --locked --profile dist -p keyhole --target "$target"
            cp "$(built "$target" dist)" "$package/plugin/server/$(server_name "$target")"
        elif [ "$(server_name "$target")" = "$name" ]; then
            server=$BUILD/dist/keyhole
            echo "x: $name uses this system's C library, since a static one needs musl's compiler and Rust's library for" \
                "$target: it runs here, and where that library is as new; do not give it to others" >&2
            # shellcheck disable=SC2086 # none or one
            cargo $auditable build --locked --profile dist -p keyhole
            cp "$server" "$own"
        else
            echo "skipped: $target (no standard library or no C compiler for it here)"
        fi
    done
}

# Makes the bundle for clients that install MCP bundles, and for the MCP registry: it puts
# the servers of the package in $1 into $2.
bundle() {
    has_node "the MCP bundle" || return 0
    npm_packages release/mcpb
    rm -rf "$2"
    mkdir -p "$2/content/server"
    cp release/mcpb/manifest.json release/mcpb/start.sh LICENSE-MIT LICENSE-APACHE LICENSE-SCOWL "$2/content/"
    cp "$1"/plugin/server/keyhole-* "$2/content/server/"
    chmod -R u=rwX,go=rX "$2/content"
    chmod 755 "$2/content/start.sh" "$2"/content/server/*
    # The same files make the same bundle, on any day and in any place.
    SOURCE_DATE_EPOCH=$(date_of_source) TZ=UTC \
        node --require ./release/mcpb/then.cjs release/mcpb/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js pack "$2/content" "$2/keyhole.mcpb" >"$2/packed.log" ||
        { cat "$2/packed.log" >&2; die "the bundle could not be packed"; }
    rm -r "$2/content" "$2/packed.log"
    sum "$2/keyhole.mcpb" | node -e '
        const fs = require("node:fs")
        const entry = JSON.parse(fs.readFileSync("release/server.json", "utf8"))
        entry.packages[0].fileSha256 = fs.readFileSync(0, "utf8").slice(0, 64)
        console.log(JSON.stringify(entry, null, 2))' >"$2/server.json"
    echo "bundled in $2: keyhole.mcpb server.json"
}

# Puts everything that a release consists of into $1-release, from the package in $1.
everything() {
    rm -rf "$1-release"
    mkdir -p "$1-release"
    cp "$1-programs"/keyhole-* "$1-bundle/keyhole.mcpb" "$1-bundle/server.json" "$1-release/"
    bill_of_materials >"$1-release/keyhole.cdx.json"
    pack "$1" "$1-packages" && cp "$1-packages"/* "$1-release/"
    # The program of this machine alone is for no other one.
    tar --exclude=./keyhole --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(date_of_source)" \
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
    tool cargo-cyclonedx 0.5.9 >&2
    # With a fixed date, the list is the same each time.
    SOURCE_DATE_EPOCH=$(date_of_source) \
        cargo cyclonedx --quiet --manifest-path host/cli/Cargo.toml --format json --spec-version 1.5 \
        --no-build-deps --target all --override-filename keyhole.cdx >&2
    # This removes this machine's path.
    sed "s,path+file://$PWD/,path+file:///keyhole/,g" host/cli/keyhole.cdx.json
    # The tool writes one for each crate of the workspace.
    git ls-files '*Cargo.toml' | sed 's,Cargo.toml$,keyhole.cdx.json,' | xargs rm -f
}
