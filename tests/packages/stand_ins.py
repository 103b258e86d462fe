"""Stand-ins for the programs of all systems, since no machine has all of them."""

import hashlib
import shutil
import struct

from world import ROOT, folder

LOAD, INTERPRETER = 1, 3


def elf(kind):
    """An ELF program for 64 bits, with one segment: its kind says whether it is static."""
    head = b"\x7fELF\x02".ljust(0x20, b"\0") + struct.pack("<Q", 64) + b"\0" * 14 + struct.pack("<HH", 56, 1)
    return head.ljust(64, b"\0") + struct.pack("<I", kind) + b"\0" * 52


def stand_ins(systems, kind=LOAD):
    """A package of the plugin, with these systems' programs; in a release, those for
    Windows lie beside it."""
    dist = folder() / "dist"
    shutil.copytree(ROOT / "plugin", dist / "plugin")
    (dist / "plugin/server").mkdir()
    fill(dist / "plugin", "server/", systems, elf(kind), "0  contract/context.wit\n")
    return dist


def beside(systems):
    """A folder of programs, as `./x release dist --all` has one."""
    programs = folder()
    fill(programs, "", systems, b"MZ")
    return programs


def fill(place, inside, systems, head, more=""):
    sums = []
    for system in systems:
        content = head + system.program.encode()
        (place / inside / system.program).write_bytes(content)
        sums.append(f"{hashlib.sha256(content).hexdigest()}  {inside}{system.program}\n")
    (place / "manifest.sha256").write_text("".join(sums) + more)
