"""Packing itself, with stand-ins for the programs of all systems; and the plugin's package
for this one."""

import hashlib
import io
import os
import shutil
import tarfile

from stand_ins import INTERPRETER, stand_ins
from world import DIST, SESSION, Case, folder, pack, packages, project, sha256, sum_in_manifest


def files_of(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


class Packing(Case):
    def packed(self, dist):
        out = folder() / "out"
        ran = pack(dist, out)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return files_of(out)

    def refused(self, dist, out=None):
        ran = pack(dist, out or folder() / "out")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        return ran.stderr

    def test_two_packings_give_the_same_bytes(self):
        copy = folder() / "dist"
        # With other dates, and in another place.
        shutil.copytree(DIST, copy, copy_function=shutil.copyfile)
        for path in copy.rglob("*"):
            os.utime(path, (1, 1))
        for path in DIST.rglob("*"):
            if path.is_file():
                shutil.copymode(path, copy / path.relative_to(DIST))
        first, second = files_of(packages()), self.packed(copy)
        self.assertEqual(sorted(first), sorted(second))
        for name, content in first.items():
            self.assertEqual(hashlib.sha256(content).digest(), hashlib.sha256(second[name]).digest(), name)

    def test_each_package_is_what_the_list_of_sums_says(self):
        files = files_of(packages())
        sums = files.pop("packages.sha256").decode()
        expected = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
        self.assertEqual(sums, expected)

    def test_a_program_that_is_not_static_is_in_no_image(self):
        self.assertIn("keyhole-image.tar", self.packed(stand_ins(project.SYSTEMS)))
        self.assertNotIn("keyhole-image.tar", self.packed(stand_ins(project.SYSTEMS, INTERPRETER)))

    def plugin_for(self, system, files):
        """Its files, by their names in the plugin."""
        with tarfile.open(fileobj=io.BytesIO(files[f"keyhole-plugin-{system.name}.tar.gz"])) as archive:
            return {
                one.name.removeprefix("keyhole-plugin/plugin/"): archive.extractfile(one).read() for one in archive if one.isfile()
            }

    def test_the_plugin_for_this_system_installs_and_serves_from_its_own_folder(self):
        home, system = self.home(), project.this_system()
        with tarfile.open(packages() / f"keyhole-plugin-{system.name}.tar.gz") as archive:
            archive.extractall(home)
        plugin = home / "keyhole-plugin/plugin"
        start = ["sh", plugin / "start.sh", home / "data"]
        self.run_in(home, *start, "install")
        self.assertEqual(sha256(plugin / "server" / system.program), sum_in_manifest(system))
        self.assertEqual({path.name for path in (home / "data").iterdir()}, {"manifest.sha256", "tickets"})
        self.loads(self.run_in(home, *start, "serve", input=SESSION))

    def test_a_plugin_for_one_system_is_the_plugin_without_the_other_programs(self):
        dist = stand_ins(project.SYSTEMS)
        files = self.packed(dist)
        general = {path.relative_to(dist / "plugin").as_posix() for path in (dist / "plugin").rglob("*") if path.is_file()}
        general = {name for name in general if not name.startswith("server/")}
        for system in project.SYSTEMS:
            its = self.plugin_for(system, files)
            self.assertEqual(set(its), general | {f"server/{system.program}"})
            named = [line.split("  ")[1] for line in its["manifest.sha256"].decode().splitlines()]
            self.assertEqual(named, [f"server/{system.program}", "contract/context.wit"])
            same = {name for name in its if its[name] == (dist / "plugin" / name).read_bytes()}
            self.assertEqual(set(its) - same, {"manifest.sha256"})

    def test_a_program_that_is_not_what_the_manifest_says_is_not_packed(self):
        system = project.SYSTEMS[0]
        dist = stand_ins([system])
        path = dist / "plugin/server" / system.program
        path.write_bytes(path.read_bytes() + b"more")
        self.assertIn("is not what", self.refused(dist))

    def test_a_program_of_an_unknown_system_is_not_left_out_in_silence(self):
        dist = stand_ins(project.SYSTEMS[:1])
        (dist / "plugin/server/keyhole-plan9-x86_64").write_bytes(b"")
        self.assertIn("keyhole-plan9-x86_64", self.refused(dist))

    def test_a_folder_that_holds_something_else_is_not_replaced(self):
        out = folder()
        (out / "precious").write_text("")
        self.assertIn("holds no packages", self.refused(stand_ins(project.SYSTEMS[:1]), out))
        self.assertTrue((out / "precious").exists())
