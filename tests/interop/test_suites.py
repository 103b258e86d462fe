"""Suites that judge a server by talking to it: mcp-conform and mcp-fuzzer."""

import json
import os
import pathlib
import subprocess
import unittest

from world import EXAMPLES, World

SUITES = os.environ.get("KEYHOLE_SUITES")
DOCUMENT = "- Jane Q. Example\n"
MODES = ["keyhole serve", "keyhole serve --bind scanner-catalog"]
# The cases in which the fuzzer counts a right answer as a finding: what it sent is well
# formed (a fuzzer's valid half), or is a notification, which has no answer.
ANSWERED = {
    "InitializeRequest",
    "InitializedNotification",
    "ListToolsRequest",
    "PingRequest",
    "ProgressNotification",
    "CancelledNotification",
    # With a key that does not exist: a refusal in a result, which is not an error of
    # the protocol.
    "CallToolRequest",
}


@unittest.skipUnless(SUITES, "the suites could not be installed")
class Suites(unittest.TestCase):
    def setUp(self):
        self.world = World(self)
        self.world.put("notes/identifiers.md", DOCUMENT)

    def run_in(self, home, *command):
        return subprocess.run(
            [pathlib.Path(SUITES) / command[0], *command[1:]],
            env=self.world.environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def test_mcp_conform_has_nothing_to_say_against_either_surface(self):
        for mode in MODES:
            with self.subTest(mode):
                arguments = ["--transport", "stdio", "--command", mode, "--format", "json", "server"]
                ran = self.run_in(self.world.home, "mcp-conform", *arguments)
                report = json.loads(ran.stdout)
                self.assertEqual([check for check in report["checks"] if not check["passed"]], [])
                self.assertEqual((report["passed"], report["fatal_error"]), (12, None))
                self.assertEqual(ran.returncode, 0)

    def test_the_fuzzer_neither_breaks_the_server_nor_gets_the_document(self):
        ran = self.run_in(
            self.world.home,
            *["mcp-fuzzer", "--protocol", "stdio", "--endpoint", MODES[0], "--seed", "1"],
            *["--mode", "all", "--phase", "both", "--runs", "5", "--runs-per-type", "2"],
            *["--security-audit", "--no-network", "--no-corpus"],
            *["--output-dir", "out", "--fs-root", str(self.world.home / "sandbox")],
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        out = self.world.home / "out"
        summary = json.loads((out / "run_summary.json").read_text())
        self.assertEqual(summary["status"], "completed")
        tool = summary["tools"]["by_name"]["load_context"]
        self.assertEqual(tool["total_runs"], 10)
        # Each was refused; there is no crash, no anomaly, and nothing was accepted.
        self.assertEqual({name: n for name, n in tool["outcomes"].items() if n}, {"server_rejected": 10})
        self.assertLessEqual(set(summary["findings"]["by_category"]), {"accepted_malformed"})
        findings = json.loads((out / "findings.json").read_text())["findings"]
        self.assertEqual({finding["target"] for finding in findings} - ANSWERED, set())
        said = ran.stdout + ran.stderr + "".join(path.read_text() for path in out.rglob("*.json"))
        self.assertNotIn("Jane", said)
