"""The plugin, and the examples that work today, in the real Bernstein."""

import importlib.metadata
import json
import logging
import os
import pathlib
import subprocess
import unittest
from unittest import mock

import bernstein
from bernstein.adapters.claude import load_mcp_config
from bernstein.core.config.seed_parser import parse_seed
from bernstein.core.mcp_manager import parse_server_configs
from bernstein.core.mcp_registry import MCPRegistry
from bernstein.core.models import Task
from bernstein.plugins.manager import PluginManager
from keyhole_bernstein import Wrong, servers
from world import EXAMPLES, World

DOCUMENT = "- Jane Q. Example\n"
SCAN = "Look for PRIVATE IDENTIFIERS in the texts."
BOUND = '[[server]]\nbind = "scanner-catalog"\nkeywords = ["private identifiers"]\ncapabilities = ["identifier-scan"]\n'
KEY = "k-2c1f8a96d0e34b57"
MAP = (EXAMPLES / "context-map.toml").read_text() + f'\n[keys.{KEY}]\npath = "~/notes/identifiers.md"\n'
GENERAL = '[[server]]\nkeywords = ["with a key"]\n'
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "load_context",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


def task(description, **more):
    return Task(id="1", title="t", description=description, role="qa", **more)


class InBernstein(unittest.TestCase):
    def setUp(self):
        self.world = World(self, MAP)
        self.world.put("notes/identifiers.md", DOCUMENT)
        environment = mock.patch.dict(os.environ, self.world.environment)
        environment.start()
        self.addCleanup(environment.stop)

    def plugins(self, text):
        """Bernstein's registry, after its collector has asked the plugin."""
        if text is not None:
            self.world.put("configuration/keyhole/bernstein.toml", text)
        plugins = PluginManager()
        plugins.discover_entry_points()
        self.assertIn("keyhole", plugins.registered_names)
        registry = MCPRegistry()
        plugins.collect_plugin_mcp_servers(registry)
        return registry

    def load(self, server, arguments=None):
        """Starts the server as a worker's client does, and calls its tool."""
        call = json.loads(json.dumps(CALL))
        call["params"]["arguments"] = arguments or {}
        ran = subprocess.run(
            [server["command"], *server["args"]],
            input=json.dumps(call) + "\n",
            env={"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], **server.get("env", {})},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(ran.stderr, "")
        return json.loads(ran.stdout)["result"]["content"][0]["text"]


class Plugin(InBernstein):
    def test_a_task_with_the_words_gets_the_bound_server_and_no_other_does(self):
        registry = self.plugins(BOUND)
        config = registry.resolve_for_tasks([task(SCAN)])
        self.assertEqual(list(config["mcpServers"]), ["keyhole__scanner-catalog"])
        server = config["mcpServers"]["keyhole__scanner-catalog"]
        self.assertEqual(server["args"], ["serve", "--bind", "scanner-catalog"])
        self.assertEqual(self.load(server), DOCUMENT)
        self.assertIsNone(registry.resolve_for_tasks([task("Mend the build.")]))

    def test_a_task_that_asks_for_the_capability_gets_it(self):
        registry = self.plugins(BOUND)
        [found] = registry.detect_servers("", requested_capabilities=["identifier-scan"])
        self.assertEqual(found.namespaced_name, "keyhole__scanner-catalog")
        self.assertEqual(registry.detect_servers("", requested_capabilities=["other"]), [])

    def test_without_a_binding_it_is_the_general_server(self):
        registry = self.plugins(BOUND + GENERAL)
        config = registry.resolve_for_tasks([task("Work with a key.")])
        [(name, server)] = config["mcpServers"].items()
        self.assertEqual(name, "keyhole__context")
        self.assertEqual(server["args"], ["serve"])
        self.assertEqual(self.load(server, {"key": KEY}), DOCUMENT)

    def test_its_definition_holds_no_secret(self):
        [server] = self.plugins(BOUND).servers
        config = json.dumps(server.to_mcp_config())
        self.assertNotIn(KEY, config)
        self.assertEqual(server.env_required, ("XDG_CONFIG_HOME",))

    def test_a_variable_that_is_not_set_does_not_lose_the_server(self):
        with mock.patch.dict(os.environ):
            del os.environ["XDG_CONFIG_HOME"]
            self.world.put(".config/keyhole/bernstein.toml", BOUND)
            [server] = self.plugins(None).servers
            self.assertEqual(server.env_required, ())
            self.assertTrue(server.env_available())
            self.assertNotIn("env", server.to_mcp_config())

    def test_nothing_is_given_that_was_not_asked_for(self):
        self.assertEqual(self.plugins(None).servers, [])
        self.assertEqual(self.plugins("").servers, [])

    def test_a_wrong_file_gives_nothing_and_is_told(self):
        for wrong in [
            "keys = 1",
            "server = 1",
            "server = [1]",
            "[[server]",
            "[[server]]\n",
            '[[server]]\nkeywords = [""]\n',
            '[[server]]\nkeywords = ["a", 1]\n',
            '[[server]]\nkeywords = "a"\n',
            '[[server]]\nkeywords = ["a"]\nkey = "k"\n',
            '[[server]]\nkeywords = ["a"]\nbind = "--map"\nargs = []\n',
            '[[server]]\nkeywords = ["a"]\nbind = "A B"\n',
            GENERAL + GENERAL,
            BOUND + BOUND,
        ]:
            with self.subTest(wrong), self.assertLogs("bernstein", logging.WARNING) as logged:
                self.assertEqual(self.plugins(wrong).servers, [])
            self.assertIn("bernstein.toml", logged.output[0])
            with self.assertRaises(Wrong):
                servers(wrong)

    def test_this_version_of_bernstein_calls_its_collector_nowhere(self):
        # README says so. With the first version that calls it, it has to change.
        self.assertEqual(importlib.metadata.version("bernstein"), "3.23.0")
        named = [
            path.name
            for path in pathlib.Path(bernstein.__file__).parent.rglob("*.py")
            for line in path.read_text(encoding="utf-8").splitlines()
            if "collect_plugin_mcp_servers" in line
        ]
        self.assertEqual(named, ["manager.py"])


class Examples(InBernstein):
    def test_the_catalogue_gives_the_server_to_a_task_with_the_words(self):
        registry = MCPRegistry(config_path=EXAMPLES / "bernstein-mcp-servers.yaml")
        config = registry.resolve_for_tasks([task(SCAN)])
        server = config["mcpServers"]["scanner-catalog"]
        # The plugin states no environment there: the worker's own counts.
        server["env"] = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
        self.assertEqual(self.load(server), DOCUMENT)
        self.assertIsNone(registry.resolve_for_tasks([task("Mend the build.")]))

    def test_bernstein_yaml_gives_it_to_every_worker(self):
        seed = parse_seed(EXAMPLES / "bernstein.yaml")
        [managed] = [one.to_mcp_config_entry() for one in parse_server_configs(seed.mcp_servers)]
        workers = load_mcp_config(project_servers=seed.mcp_servers)["mcpServers"]
        self.assertEqual(workers, {"scanner-catalog": managed})
        managed["env"] = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
        self.assertEqual(self.load(managed), DOCUMENT)
