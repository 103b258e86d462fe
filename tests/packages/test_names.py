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
    ^release/names\.env$
    | ^Cargo\.toml$
    | ^plugin/\.claude-plugin/plugin\.json$
    | ^release/(mcpb/manifest|server)\.json$
    | ^\.github/
    # The crate host/mcp has this name as well.
    | (^|/)Cargo\.(toml|lock)$ | ^x$ | ^tests/mutants\.sh$
    | \.md$ | ^docs/ | ^tests/tests/docs/ | ^tests/model/src/lib\.rs$
    # What the programs print, with their pages' addresses.
    | ^tests/tests/cli/cases/
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
        said = {owner, *(NAMES[one] for one in ("NPM", "PYPI", "IMAGE", "REGISTRY"))}
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
        bundle = json.loads(text("release/mcpb/manifest.json"))
        registry = json.loads(text("release/server.json"))
        self.assertEqual(plugin["repository"], address)
        self.assertEqual(bundle["repository"]["url"], address)
        self.assertEqual(registry["repository"]["url"], address)
        self.assertEqual(registry["name"], NAMES["REGISTRY"])
        listed = {one["registryType"]: (one["identifier"], one.get("version")) for one in registry["packages"]}
        version = project.VERSION
        bundles = f"{address}/releases/download/v{version}/keyhole.mcpb"
        self.assertEqual(listed["mcpb"], (bundles, version))
        self.assertEqual(listed["npm"], (NAMES["NPM"], version))
        self.assertEqual(listed["pypi"], (NAMES["PYPI"], version))
        self.assertEqual(listed["oci"], (f"{NAMES['IMAGE']}:{version}", None))
        self.assertEqual(plugin["author"]["name"], NAMES["PUBLISHER"])
        self.assertEqual(bundle["author"]["name"], NAMES["PUBLISHER"])
        market = json.loads(text(".claude-plugin/marketplace.json"))
        for one in (bundle, registry, market, *market["plugins"]):
            self.assertEqual(one["description"], project.DESCRIPTION)
        self.assertTrue(plugin["description"].startswith(f"{project.DESCRIPTION}. "))
        for page in ("README.md", "plugin/README.md", "host/cli/Cargo.toml", "host/cli/src/arguments.rs"):
            self.assertIn(project.DESCRIPTION, text(page), page)

    def test_the_page_names_the_packages_as_they_are_called(self):
        install = text("docs/install.md")
        for command in [
            f"npx -y {NAMES['NPM']} setup",
            f"npm install -g {NAMES['NPM']}",
            f"uvx {NAMES['PYPI']} setup",
            f"uv tool install {NAMES['PYPI']}",
            f"pipx install {NAMES['PYPI']}",
            f"pip install {NAMES['PYPI']}",
            f"claude plugin marketplace add {NAMES['REPOSITORY']}@plugin",
        ]:
            self.assertIn(f"`{command}`", install)
        self.assertIn(f" {NAMES['IMAGE']}:{project.VERSION} serve ", install)
        for system in project.SYSTEMS:
            self.assertIn(f"`@plugin-{system.name}`", install)

    def test_the_scripts_that_are_shipped_alone_start_what_the_table_says(self):
        expected = {
            system.replace("-", " "): one.program
            for one in project.SYSTEMS
            for system in one.uname.split(",")
        }
        for path in ("plugin/start.sh", "plugin/bin/keyhole", "release/mcpb/start.sh"):
            cases = re.findall(r'^ *((?:"[^"]+"(?: \| )?)+)\) name=(\S+) ;;$', text(path), re.MULTILINE)
            found = {system: program for systems, program in cases for system in re.findall(r'"([^"]+)"', systems)}
            self.assertEqual(found, expected, path)

    def test_the_release_tries_each_systems_program(self):
        release = text(".github/workflows/release.yml")
        tried = re.findall(r"\bserver: ([^ ,]+)", release)
        self.assertCountEqual(tried, [system.program for system in project.SYSTEMS])
