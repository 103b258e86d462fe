"""python3 release/packages DIST OUT: all packages of the programs in DIST, which
`./x release dist` made, in OUT. It needs no network and nothing but Python; the same
programs make the same bytes, with the same zlib."""

import hashlib
import pathlib
import shutil
import sys

import image
import npm
import plugin
import wheel
from project import CannotPack, programs

SUMS = "packages.sha256"


def pack(dist):
    """The files, by their names."""
    found = programs(dist)
    files = {}
    for kind in (npm, wheel, image):
        files.update(kind.pack(found))
    files.update(plugin.pack(found, dist))
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items())]
    files[SUMS] = "".join(sums).encode()
    return files


def main(dist, out):
    out = pathlib.Path(out)
    if out.exists() and not (out / SUMS).exists():
        raise CannotPack(f"{out} is there and holds no packages; remove it, or name another place")
    files = pack(dist)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    print(f"packed in {out}:")
    for name, content in sorted(files.items()):
        print(f"{len(content):>10}  {name}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except CannotPack as why:
        sys.exit(f"packages: {why}")
