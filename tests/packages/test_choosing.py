"""Which package an installer takes for a system that is not this one. Nothing is run."""

import functools
import shutil
import zipfile

from registry import registry
from stand_ins import stand_ins
from world import TOOLS, Case, folder, pack, project

# What pip on such a system looks for.
PIP = {
    "linux-x86_64": ["manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "linux-aarch64": ["manylinux_2_17_aarch64"],
    "macos-x86_64": ["macosx_10_12_x86_64"],
    "macos-aarch64": ["macosx_26_0_arm64"],
}


@functools.cache
def packed():
    out = folder() / "out"
    ran = pack(stand_ins(project.SYSTEMS), out)
    assert ran.returncode == 0, ran.stderr
    return out


class Choosing(Case):
    def test_pip_takes_the_wheel_of_each_system_and_none_of_another(self):
        if not TOOLS:
            self.skip("no pip could be installed")
        home = self.home()
        for system in project.SYSTEMS:
            for platform in PIP[system.name]:
                with self.subTest(platform):
                    place = home / platform
                    self.download(home, platform, place)
                    [wheel] = place.iterdir()
                    self.assertTrue(wheel.name.endswith(f"-{system.wheel}.whl"), wheel.name)
                    with zipfile.ZipFile(wheel) as archive:
                        [its] = [one for one in archive.namelist() if one.endswith("/keyhole")]
                        self.assertTrue(archive.read(its).endswith(system.program.encode()))
        self.download(home, "macosx_10_9_universal2", home / "none", exits=1)

    def download(self, home, platform, place, **more):
        self.run_in(
            home,
            *(TOOLS / "pip", "download", "--no-index", "--find-links", packed(), "--no-deps"),
            *("--only-binary", ":all:", "--platform", platform, "--dest", place, project.NAMES["PYPI"]),
            **more,
        )

    def test_npm_takes_the_package_of_each_system_and_no_other(self):
        self.need("npm")
        with registry(packed()) as address:
            for system in project.SYSTEMS:
                with self.subTest(system.npm):
                    home = self.home()
                    operating_system, processor = system.npm.split("-")
                    self.run_in(
                        home,
                        *("npm", "install", "--no-audit", "--no-fund"),
                        *(f"--os={operating_system}", f"--cpu={processor}", project.NAMES["NPM"]),
                        network=True,
                        environment={"npm_config_registry": address},
                    )
                    scope = home / "node_modules" / project.NAMES["NPM_SCOPE"]
                    self.assertEqual([one.name for one in scope.iterdir()], [system.npm])
                    its = scope / system.npm / "bin/keyhole"
                    self.assertTrue(its.read_bytes().endswith(system.program.encode()))
                    self.assertEqual(its.stat().st_mode & 0o777, 0o755)
                    shutil.rmtree(home)
