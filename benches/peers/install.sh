#!/bin/sh
# install.sh FOLDER: installs what keyhole is measured against. The tables name what could
# not be installed.
set -eu
cd "$(dirname "$0")"
folder=$1
mkdir -p "$folder"

echo "x: installing what keyhole is measured against, once: a Python and an npm package, a
minute or less; rust-mcp-filesystem, a few minutes; and hyper-mcp, some 580 crates, ten
minutes or more. Programs that are there already stay." >&2

cp server.py "$folder/"
[ -x "$folder/python/bin/python" ] || {
    python3 -m venv "$folder/python" &&
        "$folder/python/bin/pip" install --quiet -r requirements.txt
} || rm -rf "$folder/python"
[ -d "$folder/npm" ] ||
    npm install --prefix "$folder/npm" --ignore-scripts --no-audit --no-fund --loglevel=error \
        @modelcontextprotocol/server-filesystem@2026.8.31 || rm -rf "$folder/npm"

# crate NAME VERSION PLACE
crate() {
    [ -x "$folder/$3/bin/$1" ] ||
        cargo install --quiet --locked --root "$folder/$3" "$1@$2" || echo "x: $1 could not be installed" >&2
}
crate rust-mcp-filesystem 0.4.5 rust
crate hyper-mcp 0.8.3 hyper

# The one tool of hyper-mcp.
wasm=wasm32-unknown-unknown
if cargo build --quiet --locked --release --target $wasm --target-dir "$folder/plugin" \
    --manifest-path hyper/Cargo.toml; then
    cp "$folder/plugin/$wasm/release/keyhole_bench_hyper.wasm" "$folder/hyper.wasm"
fi
