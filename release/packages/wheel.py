"""PyPI: a wheel for each system, with the program itself as a script, so that `uvx` and
`pipx` run it without Python in between."""

import base64
import hashlib

from archives import zip_file
from project import DESCRIPTION, HOME_PAGE, LICENCE, LICENCE_FILES, NAMES, ROOT, VERSION

# `uvx NAME` looks for a command of that name. The wheel contains the program once, so
# the command is a script, and its shell is replaced by the program. An installer may link to
# it from a folder with another `keyhole`.
BESIDE = b"""\
#!/bin/sh
case $0 in */*) ;; *) echo 'keyhole: started without a path' >&2; exit 1 ;; esac
it=$0
while [ -h "$it" ]; do
    to=$(readlink "$it")
    case $to in /*) it=$to ;; *) it=${it%/*}/$to ;; esac
done
exec "${it%/*}/keyhole" "$@"
"""

METADATA = f"""\
Metadata-Version: 2.4
Name: {NAMES["PYPI"]}
Version: {VERSION}
Summary: {DESCRIPTION}
License-Expression: {LICENCE}
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
License-File: LICENSE-SCOWL
Project-URL: Homepage, {HOME_PAGE}
Description-Content-Type: text/markdown

<!-- mcp-name: {NAMES["REGISTRY"]} -->
# Keyhole

{DESCRIPTION}: an MCP server.

`uvx {NAMES["PYPI"]} setup` says what to put into your client's configuration. More: {HOME_PAGE}
"""


def pack(programs):
    for program in programs:
        yield wheel(program)


def wheel(program):
    system = program.system
    name = f"{NAMES['PYPI'].replace('-', '_')}-{VERSION}"
    scripts, own = f"{name}.data/scripts", f"{name}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in system.wheel.split("."))
    files = {
        f"{scripts}/keyhole": (0o755, program.content),
        f"{scripts}/{NAMES['PYPI']}": (0o755, BESIDE),
        **{f"{own}/licenses/{file}": (0o644, (ROOT / file).read_bytes()) for file in LICENCE_FILES},
        f"{own}/METADATA": (0o644, METADATA.encode()),
        f"{own}/WHEEL": (
            0o644,
            f"Wheel-Version: 1.0\nGenerator: keyhole\nRoot-Is-Purelib: false\n{tags}".encode(),
        ),
    }
    record = [f"{path},sha256={encoded(content)},{len(content)}" for path, (_, content) in files.items()]
    record.append(f"{own}/RECORD,,")
    files[f"{own}/RECORD"] = (0o644, "".join(f"{line}\n" for line in record).encode())
    return f"{name}-py3-none-{system.wheel}.whl", zip_file(files)


def encoded(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
