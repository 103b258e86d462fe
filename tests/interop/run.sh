# shellcheck shell=sh
# ./x interop: other people's clients, gateways and suites, a second engine and the
# standard host; see README.md. ./x runs this in its own shell.

. tests/python.sh

# Installs what requirements$1.txt pins, for Python 3.$2 or newer. Prints where its
# commands are, or nothing if there is no such Python.
pinned() {
    python=$(python "$2")
    if [ -z "$python" ]; then
        echo "skipped: interop tests with requirements$1.txt (no Python 3.$2 or newer)" >&2
        return
    fi
    environment "tests/interop/requirements$1.txt" "$BUILD/interop-python$1" "$python"
}

interop() {
    # Alone: its wasmtime has features that ours must not have.
    cargo test --quiet --locked -p keyhole-stock
    program
    bin=$(pinned '' 11)
    if [ -n "$bin" ]; then
        gateway=$(pinned -gateway 12)
        KEYHOLE_GATEWAY=${gateway:+$gateway/agent-mcp-gateway}
        KEYHOLE_SUITES=$(pinned -suites 11)
        export KEYHOLE_GATEWAY KEYHOLE_SUITES
        (cd tests/interop && "$bin/python" -m unittest -v)
    fi
    bernstein=$(pinned -bernstein 12)
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
