# shellcheck shell=sh
# Pythons and environments of their own, for `./x interop` and `./x release`.

# Finds the first Python 3.$1 or newer here. A command of pyenv may exist without a
# Python behind it.
python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        if "$python" -c "import sys, venv; sys.exit(sys.version_info < (3, $1))" >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
}

# Installs what the file $1 pins into the folder $2, for the Python $3, and prints where
# its commands are.
environment() {
    if ! cmp -s "$1" "$2/installed.txt"; then
        "$3" -m venv --clear "$2" >&2 &&
            "$2/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile -r "$1" >&2 &&
            cp "$1" "$2/installed.txt" || return
    fi
    echo "$2/bin"
}
