"""npm: the package that users name, with a launcher, and one package a system, of
which npm installs the one that fits. Nothing is run when they are installed."""

import json

from archives import tar_gz
from project import DESCRIPTION, HOME_PAGE, LICENCE, LICENCE_FILES, NAMES, ROOT, VERSION

README = f"""\
# Keyhole

{DESCRIPTION}: an MCP server.

`npx {NAMES["NPM"]} setup` says what to put into your client's configuration. This package
starts the program of the package for your system; name the program itself in a client's
configuration if you can, as `setup` does. More: {HOME_PAGE}
"""


def pack(programs):
    systems = [program.system for program in programs]
    yield package(
        NAMES["NPM"],
        {
            "mcpName": NAMES["REGISTRY"],
            "bin": {NAMES["NPM"]: "keyhole.js", "keyhole": "keyhole.js"},
            "engines": {"node": ">=18"},
            "optionalDependencies": {name_for(system): VERSION for system in systems},
        },
        {
            "keyhole.js": (0o755, (ROOT / "release/npm/keyhole.js").read_bytes()),
            "README.md": (0o644, README.encode()),
        },
    )
    for program in programs:
        system = program.system
        operating_system, processor = system.npm.split("-")
        yield package(
            name_for(system),
            # Otherwise Yarn keeps packages zipped, and nothing can run from there.
            {"os": [operating_system], "cpu": [processor], "preferUnplugged": True},
            {"bin/keyhole": (0o755, program.content)},
        )


def name_for(system):
    return f"{NAMES['NPM_SCOPE']}/{system.npm}"


def package(name, fields, files):
    """An archive as `npm pack` names it."""
    manifest = {
        "name": name,
        "version": VERSION,
        "description": DESCRIPTION,
        "license": LICENCE,
        "homepage": HOME_PAGE,
        "repository": {"type": "git", "url": f"git+{HOME_PAGE}.git"},
        **fields,
    }
    files = {
        **files,
        **{licence: (0o644, (ROOT / licence).read_bytes()) for licence in LICENCE_FILES},
        "package.json": (0o644, (json.dumps(manifest, indent=2) + "\n").encode()),
    }
    file_name = f"{name.removeprefix('@').replace('/', '-')}-{VERSION}.tgz"
    return file_name, tar_gz({f"package/{path}": file for path, file in files.items()})
