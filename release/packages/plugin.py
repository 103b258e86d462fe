"""The plugin's package for one system: a fourth of what the one for all weighs. It is
the same but for the programs, and the lines of the manifest that name them."""

import pathlib

from archives import tar_gz

FOLDER = "keyhole-plugin"


def pack(found, dist):
    files = files_of(dist)
    for program in found:
        alone = for_one(files, program)
        content = {f"{FOLDER}/{path}": file for path, file in alone.items()}
        yield f"{FOLDER}-{program.system.name}.tar.gz", tar_gz({FOLDER: (0o755, None), **content})


def files_of(dist):
    """The files of the package for all, without the programs."""
    files = {}
    for path in sorted(pathlib.Path(dist).rglob("*")):
        name = path.relative_to(dist).as_posix()
        if path.is_dir():
            files[name] = (0o755, None)
        elif not name.startswith("plugin/server/"):
            files[name] = (0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes())
    return files


def for_one(files, program):
    """The same, with this program."""
    its = f"server/{program.system.program}"
    manifest = files["plugin/manifest.sha256"][1].decode().splitlines(keepends=True)
    others = [line for line in manifest if "  server/" not in line]
    return {
        **files,
        "plugin/manifest.sha256": (0o644, "".join([f"{program.sha256}  {its}\n", *others]).encode()),
        f"plugin/{its}": (0o755, program.content),
    }
