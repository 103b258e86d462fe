"""Each name and each system is said in one place, and what has to repeat one agrees."""

import json
import re
import subprocess

from world import ROOT, Case, project

NAMES = project.NAMES

# The files that must contain a name themselves, because others read them unchanged.
# Texts for people are *.md, docs/, and what those include.
REPEAT = re.compile(
    r"""
    ^packaging/names\.env$
    | ^Cargo\.toml$
    | ^plugin/\.claude-plugin/plugin\.json$
    | ^packaging/(mcpb/manifest|server)\.json$
    | ^\.github/
    | \.md$ | ^docs/ | ^tests/tests/docs/ | ^tests/model/src/lib\.rs$
    """,
    re.VERBOSE,
)


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


class Names(Case):
    def test_nothing_else_repeats_a_name(self):
        owner = NAMES["REPOSITORY"].split("/")[0]
        said = {owner, *(NAMES[one] for one in ("NPM", "PYPI", "WINGET", "IMAGE", "TAP", "REGISTRY"))}
        # Not within a longer word.
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, said))})\b")
        repeated = {}
        for path in files():
            try:
                found = pattern.findall(text(path))
            except (UnicodeDecodeError, IsADirectoryError):
                continue
            if found and not REPEAT.search(path):
                repeated[path] = found
        self.assertEqual(repeated, {})

    def test_what_repeats_a_name_says_the_same(self):
        address = f"https://github.com/{NAMES['REPOSITORY']}"
        self.assertIn(f'repository = "{address}"\n', text("Cargo.toml"))
        plugin = json.loads(text("plugin/.claude-plugin/plugin.json"))
        bundle = json.loads(text("packaging/mcpb/manifest.json"))
        registry = json.loads(text("packaging/server.json"))
        self.assertEqual(plugin["repository"], address)
        self.assertEqual(bundle["repository"]["url"], address)
        self.assertEqual(registry["repository"]["url"], address)
        self.assertEqual(registry["name"], NAMES["REGISTRY"])
        self.assertEqual(plugin["author"]["name"], NAMES["PUBLISHER"])
        self.assertEqual(bundle["author"]["name"], NAMES["PUBLISHER"])
        for one in (bundle, registry):
            self.assertEqual(one["description"], project.DESCRIPTION)
            self.assertEqual(one["version"], project.VERSION)

    def test_the_page_names_the_packages_as_they_are_called(self):
        install = text("docs/install.md")
        for command in [
            f"npx -y {NAMES['NPM']} setup",
            f"npm install -g {NAMES['NPM']}",
            f"uvx {NAMES['PYPI']} setup",
            f"uv tool install {NAMES['PYPI']}",
            f"pipx install {NAMES['PYPI']}",
            f"pip install {NAMES['PYPI']}",
            f"brew install {NAMES['TAP']}/keyhole",
            f"winget install {NAMES['WINGET']}",
            f"cargo binstall --git https://github.com/{NAMES['REPOSITORY']} keyhole",
            f"claude plugin marketplace add {NAMES['REPOSITORY']}@plugin",
        ]:
            self.assertIn(f"`{command}`", install)
        self.assertIn(f" {NAMES['IMAGE']}:{project.VERSION} serve ", install)
        for system in project.SYSTEMS:
            self.assertEqual(f"`@plugin-{system.name}`" in install, not system.is_windows)

    def test_the_systems_are_those_that_are_built(self):
        [built] = re.findall(r'^SYSTEMS="(.+)"$', text("packaging/cross.sh"), re.MULTILINE)
        known = {system.target: system.program for system in project.SYSTEMS}
        self.assertLessEqual(set(built.split()), set(known))
        for target in built.split():
            script = f'{server_name()}\ndie() {{ echo "$1"; }}\nserver_name {target}'
            said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
            self.assertEqual(said.strip(), known[target])

    def test_cargo_binstall_finds_each_systems_program_in_a_release(self):
        manifest = text("host/Cargo.toml")
        [general] = re.findall(r"^\[package\.metadata\.binstall\]\n(.+?)\n\n", manifest, re.MULTILINE | re.DOTALL)
        self.assertIn('pkg-fmt = "bin"', general)
        found = dict(
            re.findall(
                r"^\[package\.metadata\.binstall\.overrides\.([a-z0-9_-]+)\]\npkg-url = \"(.+)\"$", manifest, re.MULTILINE
            )
        )
        expected = {}
        for system in project.SYSTEMS:
            targets = [system.target]
            # Those of cargo's users; a static program runs on both.
            if system.target.endswith("-linux-musl"):
                targets.append(system.target.replace("-musl", "-gnu"))
            if system.is_windows:
                targets.append(re.sub("-gnu.*", "-msvc", system.target))
            for target in targets:
                expected[target] = "{ repo }/releases/download/v{ version }/" + system.program
        self.assertEqual(found, expected)


def server_name():
    """The function of that name in x."""
    [found] = re.findall(r"^server_name\(\) \{\n.+?^\}$", text("x"), re.MULTILINE | re.DOTALL)
    return found
