"""The wheels, installed by pip, uv and pipx."""

import base64
import csv
import hashlib
import io
import sys
import zipfile

from world import LASTING, TOOLS, Case, packages, project, sha256, sum_in_manifest

NAME = project.NAMES["PYPI"]


def wheels():
    return sorted(packages().glob("*.whl"))


class Wheel(Case):
    def from_files(self):
        return ["--no-index", "--find-links", packages()]

    def is_the_program(self, path):
        self.assertEqual(sha256(path), sum_in_manifest(project.this_system()))

    def tool(self, name):
        if not TOOLS:
            self.skip(f"{name} could not be installed")
        return TOOLS / name

    def test_pip_installs_it_without_a_network(self):
        home = self.home()
        self.run_in(home, sys.executable, "-m", "venv", home / "env")
        self.run_in(home, home / "env/bin/pip", "install", *self.from_files(), NAME)
        self.is_the_program(home / "env/bin/keyhole")
        self.works(home, home / "env/bin" / NAME)
        # As for a user who activated the environment.
        self.works(home, NAME, path=[home / "env/bin"])
        self.run_in(home, home / "env/bin/pip", "uninstall", "--yes", NAME)
        self.assertEqual(list((home / "env").rglob("keyhole*")), [])

    def test_uvx_runs_it_without_a_network(self):
        uvx = self.tool("uvx")
        home = self.home()
        self.works(home, uvx, "--offline", *self.from_files(), NAME)
        self.works(home, uvx, "--offline", *self.from_files(), "--from", NAME, "keyhole")

    def test_uv_installs_it_without_a_network_and_setup_tells_clients_the_name_that_stays(self):
        uv = self.tool("uv")
        home = self.home(LASTING)
        self.run_in(home, uv, "tool", "install", "--offline", *self.from_files(), NAME)
        self.is_the_program(home / ".local/bin/keyhole")
        self.works(home, NAME, path=[home / ".local/bin"])
        # Another program of that name does not count.
        beside = home / "beside"
        beside.mkdir()
        (beside / "keyhole").write_text("#!/bin/sh\necho foreign\n")
        (beside / "keyhole").chmod(0o755)
        (beside / NAME).symlink_to(f"../.local/bin/{NAME}")
        self.works(home, beside / NAME)
        uvx = [self.tool("uvx"), "--isolated", "--offline", *self.from_files(), NAME]
        said = self.run_in(home, *uvx, "setup", "vscode")
        self.assertIn("Careful: this program lies in a folder that is emptied", said)
        said = self.run_in(home, NAME, "setup", "claude-code", path=[home / ".local/bin"])
        self.lasts(said)
        self.assertIn(f'"command": "{home}/.local/bin/keyhole"', said)

    def test_pipx_installs_it_without_a_network(self):
        pipx = self.tool("pipx")
        home = self.home()
        arguments = " ".join(map(str, ["--offline", "--no-index", f"--find-links='{packages()}'"]))
        self.run_in(home, pipx, "install", "--backend", "uv", "--pip-args", arguments, NAME, path=[TOOLS])
        self.is_the_program(home / ".local/bin/keyhole")
        self.works(home, home / ".local/bin" / NAME)

    def test_each_is_what_its_record_says(self):
        self.assertTrue(wheels())
        for path in wheels():
            with self.subTest(path.name), zipfile.ZipFile(path) as archive:
                [record] = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
                # As the specification says, so that others can be added.
                self.assertEqual(archive.namelist()[-1], record)
                rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
                self.assertEqual(sorted(name for name, _, _ in rows), sorted(archive.namelist()))
                for name, digest, size in rows:
                    if name == record:
                        self.assertEqual((digest, size), ("", ""))
                        continue
                    content = archive.read(name)
                    encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                    self.assertEqual((digest, size), (f"sha256={encoded}", str(len(content))))
                tags = [
                    line.removeprefix("Tag: ")
                    for line in archive.read(record.replace("RECORD", "WHEEL")).decode().splitlines()
                    if line.startswith("Tag: ")
                ]
                platforms = path.stem.split("-")[-1].split(".")
                self.assertEqual(tags, [f"py3-none-{platform}" for platform in platforms])
