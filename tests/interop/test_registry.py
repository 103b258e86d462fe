"""The MCP registry's entry, judged by a linter that carries the registry's schemas."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from world import ROOT

SUITES = os.environ.get("KEYHOLE_SUITES")


@unittest.skipUnless(SUITES, "the linter could not be installed")
class Registry(unittest.TestCase):
    def lint(self, entry):
        """What the linter has against the entry."""
        with tempfile.TemporaryDirectory(prefix="keyhole-") as place:
            (pathlib.Path(place) / "server.json").write_text(json.dumps(entry))
            linter = pathlib.Path(SUITES) / "skillsaw"
            ran = subprocess.run(
                [linter, "lint", "--type", "mcp-registry", "--strict", "--format", "json", place],
                capture_output=True,
                text=True,
                timeout=300,
                env={"HOME": place, "PATH": os.environ["PATH"]},
            )
        report = json.loads(ran.stdout)
        self.assertEqual(report["stats"]["repo_types"], ["mcp-registry"])
        found = [(one["rule_id"], one["message"]) for one in report["violations"]]
        self.assertEqual(ran.returncode, 1 if found else 0)
        return found

    def test_the_entry_is_valid_once_it_has_its_bundles_sum(self):
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
