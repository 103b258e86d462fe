# shellcheck shell=sh
# ./x interop: other people's clients, gateways and suites, a second engine and the
# standard host; see README.md. ./x runs this in its own shell.

. tests/python.sh

# Installs what requirements$1.txt pins. Prints where its commands are, or nothing if there
# is no Python that is new enough.
pinned() {
    case $1 in -gateway | -bernstein) least=12 ;; *) least=11 ;; esac
    python=$(python $least)
    if [ -z "$python" ]; then
        echo "skipped: interop tests with requirements$1.txt (no Python 3.$least or newer)" >&2
        return
    fi
    environment "tests/interop/requirements$1.txt" "$BUILD/interop-python$1" "$python"
}

interop() {
    # These install while cargo builds. What fails is tried again below, and then said.
    for part in '' -gateway -suites -bernstein; do pinned "$part" >/dev/null 2>&1 & done
    # Alone: its wasmtime has features that ours must not have. Clippy is in the compiler's
    # place, so that what it depends on is compiled once.
    RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo test --quiet --locked -p keyhole-stock
    program
    wait
    bin=$(pinned '')
    if [ -n "$bin" ]; then
        gateway=$(pinned -gateway)
        KEYHOLE_GATEWAY=${gateway:+$gateway/agent-mcp-gateway}
        KEYHOLE_SUITES=$(pinned -suites)
        export KEYHOLE_GATEWAY KEYHOLE_SUITES
        (cd tests/interop && "$bin/python" -m unittest -v)
    fi
    bernstein=$(pinned -bernstein)
    if [ -n "$bernstein" ]; then
        "$bernstein/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
            --force-reinstall integrations/bernstein
        PYTHONPATH=tests/interop "$bernstein/python" -m unittest discover -v integrations/bernstein/tests
    fi
    has_node "interop tests in Node" || return 0
    npm_packages tests/interop
    cd tests/interop
    node --test --test-concurrency=2 --test-reporter=spec "$@" ./*.test.mjs
}

interop "$@"
