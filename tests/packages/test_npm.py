"""The npm packages, installed by npm and started as its users start them."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tarfile

from registry import registry
from world import BEGIN, LASTING, Case, packages, project, sha256, sum_in_manifest

NAME = project.NAMES["NPM"]


def own_package():
    return f"{project.NAMES['NPM_SCOPE']}/{project.this_system().npm}"


def file_of(name):
    return f"{name.removeprefix('@').replace('/', '-')}-{project.VERSION}.tgz"


class Npm(Case):
    def setUp(self):
        self.need("npm", "node")
        self.main, self.own = packages() / file_of(NAME), packages() / file_of(own_package())

    def globally(self, home, *what, **more):
        """Where npm puts it."""
        prefix = home / "prefix"
        self.run_in(home, "npm", "install", "-g", "--prefix", prefix, "--no-audit", "--no-fund", *what, **more)
        return prefix

    def test_installed_from_files_without_a_network_it_works(self):
        home = self.home()
        prefix = self.globally(home, "--offline", self.main, self.own)
        self.works(home, prefix / "bin" / NAME)
        self.works(home, prefix / "bin/keyhole")
        [program] = prefix.rglob("lib/**/bin/keyhole")
        self.assertEqual(sha256(program), sum_in_manifest(project.this_system()))

    def test_from_a_registry_npm_takes_the_package_of_this_system_and_no_other(self):
        with registry(packages()) as address:
            home = self.home(LASTING)
            more = {"network": True, "environment": {"npm_config_registry": address}}
            prefix = self.globally(home, NAME, **more)
            self.works(home, prefix / "bin" / NAME)
            there = {path.name for path in prefix.rglob(f"{project.NAMES['NPM_SCOPE']}/*")}
            self.assertEqual(there, {project.this_system().npm})
            # Clients are told the program, and not the launcher.
            said = self.run_in(home, prefix / "bin/keyhole", "setup", "claude-code")
            [program] = prefix.rglob("lib/**/bin/keyhole")
            self.assertIn(f'"command": "{program}"', said)
            # The line that users type, with nothing installed before.
            typed = self.run_in(home, "npx", "-y", NAME, "-V", **more)
            self.assertEqual(typed, f"keyhole {project.VERSION}\n")
            typed = self.run_in(home, "npx", "-y", NAME, "setup", "vscode", **more)
            self.assertIn("Careful: this program lies in a folder that is emptied", typed)
            self.lasts(said)

    def test_nothing_is_run_when_it_is_installed(self):
        for file in packages().glob("*.tgz"):
            with tarfile.open(file) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
            self.assertNotIn("scripts", manifest, file)
            self.assertNotIn("dependencies", manifest, file)

    def test_a_signal_that_comes_as_the_program_starts_leaves_nothing_behind(self):
        home = self.home()
        prefix = self.globally(home, "--offline", self.main, self.own)
        early = home / "early.js"
        early.write_text(
            "const processes = require('node:child_process'), { spawn } = processes\n"
            "processes.spawn = (...its) => {\n"
            "  const child = spawn(...its)\n"
            "  process.kill(process.pid, 'SIGTERM')\n"
            "  return child\n"
            "}\n"
        )
        launcher = [shutil.which("node"), "--require", early, prefix / "bin/keyhole", "serve"]
        pipe = subprocess.PIPE
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        with subprocess.Popen(launcher, env=environment, stdin=pipe, stdout=pipe) as server:
            server.wait(timeout=300)
            self.assertTrue(is_closed(server.stdout), "the program has outlived its launcher")

    def test_a_program_in_a_folder_above_or_on_nodes_own_path_is_not_run(self):
        home = self.home()
        project_folder = home / "project"
        project_folder.mkdir()
        install = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", project_folder]
        self.run_in(home, *install, self.main)
        # As a user who may write to a folder above the project could put it there.
        foreign = home / "node_modules" / own_package() / "bin/keyhole"
        foreign.parent.mkdir(parents=True)
        foreign.write_text("#!/bin/sh\necho foreign\n")
        foreign.chmod(0o755)
        launcher = project_folder / "node_modules/.bin/keyhole"
        for environment in ({}, {"NODE_PATH": str(home / "node_modules")}):
            said = self.run_in(home, launcher, "--version", exits=1, environment=environment)
            self.assertIn(f"{own_package()}, which holds the program for this system, is not installed", said)
            self.assertIn("npm install --include=optional", said)
            self.assertNotIn("foreign", said)
        self.run_in(home, *install, self.main, self.own)
        self.works(home, launcher)

    def test_it_ends_as_the_program_ends(self):
        home = self.home()
        prefix = self.globally(home, "--offline", self.main, self.own)
        [program] = prefix.rglob("lib/**/bin/keyhole")
        launcher = prefix / "bin/keyhole"
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        for arguments in (["--no-such-option"], ["check", "--map", "/none"]):
            codes = [
                subprocess.run([one, *arguments], env=environment, capture_output=True).returncode
                for one in (program, launcher)
            ]
            self.assertNotEqual(codes[0], 0)
            self.assertEqual(codes[0], codes[1], arguments)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            with self.subTest(number):
                self.assertEqual(ended(program, number, environment), ended(launcher, number, environment))
        # Only the program is killed: its launcher must not outlive it.
        with serving(launcher, environment) as server:
            [child] = children(server.pid)
            os.kill(child, signal.SIGKILL)
            self.assertEqual(server.wait(timeout=300), -signal.SIGKILL)


@contextlib.contextmanager
def serving(program, environment):
    """A server that has answered once, so that its own signals are in place."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([program, "serve"], env=environment, preexec_fn=take_signals, **pipes) as server:
        server.stdin.write("".join(f"{json.dumps(one)}\n" for one in BEGIN).encode())
        server.stdin.flush()
        json.loads(server.stdout.readline())
        yield server


def take_signals():
    """Whoever runs the tests may have been told to ignore some, as by nohup, and a child
    then ignores them as well."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def ended(program, number, environment):
    with serving(program, environment) as server:
        server.send_signal(number)
        code = server.wait(timeout=300)
        assert is_closed(server.stdout), "somebody has outlived the server"
        return code


def is_closed(output):
    """Whether all have ended who had inherited this."""
    while select.select([output], [], [], 300)[0]:
        if not os.read(output.fileno(), 4096):
            return True
    return False


def children(process):
    listed = subprocess.run(["ps", "-A", "-o", "ppid=,pid="], capture_output=True, text=True, check=True)
    pairs = [map(int, line.split()) for line in listed.stdout.splitlines()]
    return [child for parent, child in pairs if parent == process]
