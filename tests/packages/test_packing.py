"""Packing itself, with stand-ins for the programs of all systems; and the plugin's package
for this one."""

import hashlib
import io
import os
import shutil
import tarfile

from stand_ins import INTERPRETER, beside, stand_ins
from world import DIST, PROGRAMS, SESSION, Case, folder, pack, packages, project, sha256, sum_in_manifest


def files_of(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


class Packing(Case):
    def packed(self, dist, *programs):
        out = folder() / "out"
        ran = pack(dist, out, *programs)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return files_of(out)

    def refused(self, dist, out=None, *programs):
        ran = pack(dist, out or folder() / "out", *programs)
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
        first, second = files_of(packages()), self.packed(copy, *([PROGRAMS] if (PROGRAMS / "manifest.sha256").exists() else []))
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
            expected = general - {"start.sh"} if system.is_windows else general
            self.assertEqual(set(its), expected | {f"server/{system.program}"})
            named = [line.split("  ")[1] for line in its["manifest.sha256"].decode().splitlines()]
            self.assertEqual(named, [f"server/{system.program}", "contract/context.wit"])
            same = {name for name in its if its[name] == (dist / "plugin" / name).read_bytes()}
            changed = {"manifest.sha256"}
            if system.is_windows:
                changed |= {".mcp.json", "hooks/hooks.json", "hooks/register.ts"}
            self.assertEqual(set(its) - same, changed)

    def test_what_a_package_without_a_shell_would_start_by_one_is_not_packed(self):
        system = project.SYSTEMS[-1]
        self.assertTrue(system.is_windows)
        for name, old, new in [
            (".mcp.json", '"sh"', '"bash"'),
            ("hooks/hooks.json", "start.sh\\\"", "start.sh\\\" -x"),
            ("hooks/register.ts", "['sh', `", "['bash', `"),
        ]:
            dist = stand_ins([system])
            path = dist / "plugin" / name
            text = path.read_text()
            self.assertIn(old, text)
            path.write_text(text.replace(old, new))
            self.assertIn(name, self.refused(dist))

    def test_programs_for_windows_are_packed_from_beside_the_plugin_and_no_others_are(self):
        unix = [one for one in project.SYSTEMS if not one.is_windows]
        dist, programs = stand_ins(unix), beside(project.SYSTEMS)
        files = self.packed(dist, programs)
        self.assertEqual(set(files), set(self.packed(stand_ins(project.SYSTEMS))))
        for system in project.SYSTEMS:
            folder = programs if system.is_windows else dist / "plugin/server"
            content = (folder / system.program).read_bytes()
            self.assertEqual(self.plugin_for(system, files)[f"server/{system.program}"], content)

    def test_a_program_that_is_not_what_a_manifest_says_is_not_packed(self):
        unix, windows = project.SYSTEMS[0], project.SYSTEMS[-1]
        for damaged in (unix, windows):
            dist, programs = stand_ins([unix]), beside([windows])
            path = (programs if damaged.is_windows else dist / "plugin/server") / damaged.program
            path.write_bytes(path.read_bytes() + b"more")
            self.assertIn("is not what", self.refused(dist, None, programs))

    def test_a_program_of_an_unknown_system_is_not_left_out_in_silence(self):
        dist = stand_ins(project.SYSTEMS[:1])
        (dist / "plugin/server/keyhole-plan9-x86_64").write_bytes(b"")
        self.assertIn("keyhole-plan9-x86_64", self.refused(dist))

    def test_a_folder_that_holds_something_else_is_not_replaced(self):
        out = folder()
        (out / "precious").write_text("")
        self.assertIn("holds no packages", self.refused(stand_ins(project.SYSTEMS[:1]), out))
        self.assertTrue((out / "precious").exists())
