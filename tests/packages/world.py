"""The packages under test, and a fresh home to install them in.

`./x release installs` says where they are, in KEYHOLE_PACKAGES, and of what they were
packed, in KEYHOLE_DIST."""

import atexit
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACK = ROOT / "release/packages"
sys.path.insert(0, str(PACK))

import project  # noqa: E402

DIST = pathlib.Path(os.environ["KEYHOLE_DIST"])
# Where pip, uv and pipx are, if they could be installed.
TOOLS = pathlib.Path(os.environ["KEYHOLE_PYTHON_TOOLS"]) if os.environ.get("KEYHOLE_PYTHON_TOOLS") else None
# What runs programs for arm64 on another processor.
AS_ARM64 = [part for part in ["sh", os.environ.get("KEYHOLE_AS_ARM64")] if os.environ.get("KEYHOLE_AS_ARM64")]

KEY = "k-2c1f8a96d0e34b57"
DOCUMENT = "# Identifiers\n\nJane Q. Example\n"
MAP = f'[keys]\n"{KEY}" = "~/notes/identifiers.md"\n'

# Not under a folder for temporary files: `keyhole setup` warns about those.
LASTING = ROOT / "target"

# An address where nothing answers, for tools that would still contact a server.
NOWHERE = "http://127.0.0.1:9/"


def folder(place=None):
    """One that is gone when the tests end. Its name has a space, as a home may."""
    if place:
        place.mkdir(exist_ok=True)
    path = pathlib.Path(tempfile.mkdtemp(prefix="keyhole packages-", dir=place)).resolve()
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def pack(*arguments):
    return subprocess.run([sys.executable, PACK, *arguments], capture_output=True, text=True)


def packages():
    """Where all packages of KEYHOLE_DIST are."""
    return pathlib.Path(os.environ["KEYHOLE_PACKAGES"])


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def sum_in_manifest(system):
    for line in (DIST / "plugin/manifest.sha256").read_text().splitlines():
        its_sum, name = line.split("  ")
        if name == f"server/{system.program}":
            return its_sum
    raise AssertionError(f"no {system.program} in the manifest")


@functools.cache
def without_network():
    """What to put before a command, so that it has no network. Elsewhere, each tool's own
    option and NOWHERE have to do."""
    command = ["unshare", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    print("skipped: that there is no network (`unshare --net` is not allowed here)", flush=True)
    return []


class Case(unittest.TestCase):
    maxDiff = None

    def skip(self, why):
        print(f"skipped: {self.id()} ({why})", flush=True)
        self.skipTest(why)

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skip(f"no {tool} here")

    def home(self, place=None, file_mode=0o600, folder_mode=0o700):
        """A home with a map, and the document that it names."""
        home = folder(place)
        for path, text in {".config/keyhole/context-map.toml": MAP, "notes/identifiers.md": DOCUMENT}.items():
            (home / path).parent.mkdir(parents=True)
            (home / path).write_text(text)
        for path in home.rglob("*"):
            path.chmod(folder_mode if path.is_dir() else file_mode)
        return home

    def run_in(self, home, *command, path=(), network=False, exits=0, **more):
        """What a command says, in an environment of a new user."""
        environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
            "npm_config_registry": NOWHERE,
            "npm_config_update_notifier": "false",
            "PIP_INDEX_URL": NOWHERE,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **more.pop("environment", {}),
        }
        prefix = [] if network else without_network()
        ran = subprocess.run(
            [*prefix, *map(str, command)], capture_output=True, text=True, env=environment, cwd=home, timeout=600, **more
        )
        self.assertEqual(ran.returncode, exits, f"{command}: {ran.stdout}{ran.stderr}")
        return ran.stdout + ran.stderr

    def lasts(self, said):
        """That `setup`, which said this in a home in LASTING, believes that the program stays."""
        if any(ROOT.is_relative_to(temporary) for temporary in ("/tmp", "/var/tmp", tempfile.gettempdir())):
            self.skip("the clone lies in a folder for temporary files")
        self.assertNotIn("Careful", said)

    def works(self, home, *command, path=()):
        """That `command` is this version, likes the map, and serves its document."""
        self.assertIn(f"keyhole {project.VERSION}\n", self.run_in(home, *command, "--version", path=path))
        self.assertIn("1 would be served", self.run_in(home, *command, "check", path=path))
        answers = self.run_in(home, *command, "serve", path=path, input=SESSION)
        self.loads(answers)

    def loads(self, answers):
        """That what SESSION was answered is the document, once, and one refusal."""
        found = [json.loads(line) for line in answers.splitlines() if line.startswith("{")]
        texts = {one["id"]: one["result"]["content"][0]["text"] for one in found if one["id"] > 0}
        self.assertEqual(texts.pop(1), DOCUMENT, answers)
        self.assertTrue(texts.pop(2).startswith("unknown-key: "), answers)
        self.assertEqual(texts, {})


def call(id, key):
    parameters = {"name": "load_context", "arguments": {"key": key}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters}


BEGIN = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "packages", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
SESSION = "".join(f"{json.dumps(one)}\n" for one in [*BEGIN, call(1, KEY), call(2, KEY[:-1] + "8")])
