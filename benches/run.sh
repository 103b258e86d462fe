# shellcheck shell=sh
# ./x bench: measures. ./x runs this in its own shell.

. release/programs.sh

# A smoke test: whether all can be measured.
short() {
    cargo build --quiet --locked -p keyhole
    # The others have been built with the tests, for one of them.
    # shellcheck disable=SC2086 # several
    cargo test --quiet --locked --no-run $TESTED --test allocations
    "$BUILD/debug/keyhole-bench" --short
}

# Peers are measured if they are installed.
full() {
    peers=$BUILD/bench
    mkdir -p "$peers"
    # Otherwise hyper-mcp logs into the user's own folder.
    export HYPER_MCP_LOG_PATH="$peers/logs"
    echo "x: building the programs as for a release (some minutes), then 21 rounds (some more)" >&2
    # As for a release, but with this system's own C library.
    cargo build --locked --profile dist -p keyhole -p keyhole-benches --bins
    set -- --peers "$peers"
    target=$(uname -m)-unknown-linux-musl
    if [ "$(uname -s)" = Linux ] && can_build "$target"; then
        cargo build --locked --profile dist -p keyhole --target "$target"
        set -- "$@" --packaged "$BUILD/$target/dist/keyhole"
    fi
    "$BUILD/dist/keyhole-bench" "$@"
}

case ${1-} in
    '') full ;;
    --short) short ;;
    --peers) sh benches/peers/install.sh "$BUILD/bench"; full ;;
    *) usage >&2 && exit 2 ;;
esac
