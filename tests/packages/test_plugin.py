"""The plugin's package for this system alone: a first session installs and serves."""

import tarfile

from world import SESSION, Case, folder, packages, project, sha256, sum_in_manifest


class Plugin(Case):
    def setUp(self):
        self.package = folder()
        with tarfile.open(packages() / f"keyhole-plugin-{project.this_system().name}.tar.gz") as archive:
            archive.extractall(self.package)
        self.plugin = self.package / "keyhole-plugin/plugin"

    def test_its_launcher_installs_and_serves_from_its_own_folder(self):
        home = self.home()
        start = ["sh", self.plugin / "start.sh", home / "data"]
        self.run_in(home, *start, "install")
        [program] = (self.plugin / "server").glob("keyhole-*")
        self.assertEqual(sha256(program), sum_in_manifest(project.this_system()))
        self.assertEqual({path.name for path in (home / "data").iterdir()}, {"manifest.sha256", "tickets"})
        self.loads(self.run_in(home, *start, "serve", input=SESSION))
