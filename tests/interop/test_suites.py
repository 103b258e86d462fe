"""mcp-conform judges the server by talking to it; a linter with the registry's schemas
judges the registry's entry."""

import json
import os
import pathlib
import subprocess
import unittest

from world import ROOT, World

SUITES = os.environ.get("KEYHOLE_SUITES")


@unittest.skipUnless(SUITES, "the suites could not be installed")
class Suites(unittest.TestCase):
    def setUp(self):
        self.world = World(self)

    def report(self, name, *arguments):
        """What the suite reports, and how it exits."""
        command = [pathlib.Path(SUITES) / name, *arguments]
        ran = subprocess.run(command, env=self.world.environment, capture_output=True, text=True, timeout=600)
        return json.loads(ran.stdout), ran.returncode

    def test_mcp_conform_has_nothing_to_say_against_either_surface(self):
        self.world.put("notes/identifiers.md", "- Jane Q. Example\n")
        for mode in ["keyhole serve", "keyhole serve --bind scanner-catalog"]:
            with self.subTest(mode):
                arguments = ["--transport", "stdio", "--command", mode, "--format", "json", "server"]
                report, code = self.report("mcp-conform", *arguments)
                self.assertEqual([check for check in report["checks"] if not check["passed"]], [])
                self.assertEqual((report["passed"], report["fatal_error"], code), (12, None, 0))

    def lint(self, entry):
        """What the linter has against the registry's entry."""
        place = self.world.put("entry/server.json", json.dumps(entry)).parent
        report, code = self.report("skillsaw", "lint", "--type", "mcp-registry", "--strict", "--format", "json", place)
        self.assertEqual(report["stats"]["repo_types"], ["mcp-registry"])
        found = [(one["rule_id"], one["message"]) for one in report["violations"]]
        self.assertEqual(code, 1 if found else 0)
        return found

    def test_the_registrys_entry_is_valid_once_it_has_its_bundles_sum(self):
        entry = json.loads((ROOT / "release/server.json").read_text())
        # `./x release bundle` fills it in.
        self.assertNotIn("fileSha256", entry["packages"][0])
        entry["packages"][0]["fileSha256"] = "0" * 64
        self.assertEqual(self.lint(entry), [])
        # This checks that the linter really reads the file.
        for field, value in [("description", "d" * 101), ("name", "keyhole"), ("version", "latest")]:
            with self.subTest(field):
                [(rule, message)] = self.lint({**entry, field: value})
                self.assertEqual(rule, "mcp-registry-server-json-valid")
                self.assertIn(field, message)
