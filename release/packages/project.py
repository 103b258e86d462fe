"""What all packages are made of: the project's names, and the programs of a build."""

import hashlib
import os
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTION = "Gives a private file to one AI subagent, and not to the main conversation"
LICENCE = "MIT OR Apache-2.0"
LICENCE_FILES = ("LICENSE-APACHE", "LICENSE-MIT", "LICENSE-SCOWL")


class CannotPack(Exception):
    """Said to whoever packs, and nothing is left behind."""


def lines(name):
    """A file of release/, without its comments."""
    text = (ROOT / "release" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


NAMES = dict(line.split("=", 1) for line in lines("names.env"))
HOME_PAGE = f"https://github.com/{NAMES['REPOSITORY']}"
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


@dataclass(frozen=True)
class System:
    """A line of release/systems.txt."""

    program: str
    target: str
    uname: str
    npm: str
    image: str
    wheel: str

    @property
    def name(self):
        """As in the plugin's package for this system alone: linux-x86_64."""
        return self.program.removeprefix("keyhole-")


SYSTEMS = [System(*line.split()) for line in lines("systems.txt")]


def this_system():
    """The one that this runs on."""
    here = os.uname()
    [found] = [one for one in SYSTEMS if f"{here.sysname}-{here.machine}" in one.uname.split(",")]
    return found


@dataclass(frozen=True)
class Program:
    """The program for a system, as it was built."""

    system: System
    content: bytes

    @property
    def sha256(self):
        return hashlib.sha256(self.content).hexdigest()


def programs(dist):
    """Those of a package of the plugin: each must be what its manifest says."""
    plugin = pathlib.Path(dist) / "plugin"
    manifest = plugin / "manifest.sha256"
    if not manifest.is_file():
        raise CannotPack(f"{dist} is no package of the plugin; make one with ./x release dist")
    sums = dict(reversed(line.split("  ", 1)) for line in manifest.read_text().splitlines())
    systems = {system.program: system for system in SYSTEMS}
    found = {}
    for path in (plugin / "server").iterdir():
        if path.name not in systems:
            raise CannotPack(f"no system of release/systems.txt has this: {path.name}")
        program = found[path.name] = Program(systems[path.name], path.read_bytes())
        if sums.get(f"server/{path.name}") != program.sha256:
            raise CannotPack(f"{path.name} is not what {manifest} says")
    if not found:
        raise CannotPack(f"{dist} holds no program")
    return [found[system.program] for system in SYSTEMS if system.program in found]
