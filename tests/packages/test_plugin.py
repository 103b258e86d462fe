"""The plugin's package for this system alone: a first session installs and serves."""

import tarfile

from world import SESSION, Case, folder, packages, sha256, sum_in_manifest, system


class Plugin(Case):
    def setUp(self):
        self.package = folder()
        with tarfile.open(packages() / f"keyhole-plugin-{system().name}.tar.gz") as archive:
            archive.extractall(self.package)
        self.plugin = self.package / "keyhole-plugin/plugin"

    def test_its_launcher_installs_the_program_and_serves(self):
        home = self.home()
        start = ["sh", self.plugin / "start.sh", home / "data"]
        self.run_in(home, *start, "install")
        [program] = (home / "data").glob("keyhole-*")
        self.assertEqual(sha256(program), sum_in_manifest(system()))
        self.loads(self.run_in(home, *start, "serve", input=SESSION))

    def test_its_manifest_holds(self):
        home = self.home()
        self.run_in(
            home,
            "sh",
            "-c",
            'cd "$1" && { sha256sum -c manifest.sha256 || shasum -a 256 -c manifest.sha256; }',
            "sh",
            self.plugin,
        )

    def test_on_another_system_it_says_so(self):
        home = self.home()
        other = "Darwin arm64" if system().name.startswith("linux") else "Linux x86_64"
        commands = home / "bin"
        commands.mkdir()
        (commands / "uname").write_text(f"#!/bin/sh\necho '{other}'\n")
        (commands / "uname").chmod(0o755)
        said = self.run_in(
            home, "sh", self.plugin / "start.sh", home / "data", "install", path=[commands], exits=1
        )
        self.assertIn(f"holds no server for this system ({other})", said)
