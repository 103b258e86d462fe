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
    """A package of the plugin, with these systems' programs."""
    dist = folder() / "dist"
    plugin = dist / "plugin"
    shutil.copytree(ROOT / "plugin", plugin)
    (plugin / "server").mkdir()
    sums = []
    for system in systems:
        content = elf(kind) + system.program.encode()
        (plugin / "server" / system.program).write_bytes(content)
        sums.append(f"{hashlib.sha256(content).hexdigest()}  server/{system.program}\n")
    (plugin / "manifest.sha256").write_text("".join(sums) + "0  contract/context.wit\n")
    return dist
