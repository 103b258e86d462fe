"""agent-mcp-gateway in front of the server, with the configuration of the docs."""

import json
import os
import unittest

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from world import DOCUMENT, EXAMPLES, World

GATEWAY = os.environ.get("KEYHOLE_GATEWAY")
CALL = {"server": "scanner-catalog", "tool": "load_context", "args": {}}


@unittest.skipUnless(GATEWAY, "agent-mcp-gateway needs Python 3.12 or newer")
class Gateway(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.world = World(self)
        self.document = self.world.put("notes/identifiers.md", DOCUMENT)

    def client(self):
        environment = {
            **self.world.environment,
            "GATEWAY_MCP_CONFIG": str(EXAMPLES / "agent-mcp-gateway.json"),
            "GATEWAY_RULES": str(EXAMPLES / "agent-mcp-gateway-rules.json"),
            "GATEWAY_AUDIT_LOG": str(self.world.home / "audit.jsonl"),
        }
        log = open(self.world.home / "log", "a+")
        self.addCleanup(log.close)
        server = StdioServerParameters(command=GATEWAY, env=environment)
        return Client(stdio_client(server, errlog=log), mode="legacy")

    async def test_the_rules_decide_for_each_agent(self):
        async with self.client() as client:
            listed = await client.call_tool("list_servers", {"agent_id": "scanner"})
            [server] = json.loads(listed.content[0].text)
            self.assertEqual(server["name"], "scanner-catalog")
            listed = await client.call_tool("list_servers", {"agent_id": "other"})
            self.assertEqual(listed.structured_content, {"result": []})
            # Somebody else, and nobody.
            for agent in [{"agent_id": "other"}, {}]:
                refused = await client.call_tool("execute_tool", {**agent, **CALL})
                self.assertTrue(refused.is_error)
                self.assertNotIn("quoted", refused.model_dump_json())

    async def test_the_content_and_the_codes_come_through_unharmed(self):
        async with self.client() as client:
            call = {"agent_id": "scanner", **CALL}
            result = await client.call_tool("execute_tool", call)
            self.assertFalse(result.is_error)
            answer = json.loads(result.content[0].text)
            self.assertEqual([block["text"] for block in answer["content"]], [DOCUMENT])
            self.document.unlink()
            refused = await client.call_tool("execute_tool", call)
            self.assertTrue(refused.is_error)
            self.assertRegex(refused.content[0].text, r"\bnot-found: ")
            self.world.map.unlink()
            refused = await client.call_tool("execute_tool", call)
            self.assertRegex(refused.content[0].text, r"\bmap-missing: ")
            # The data has no code: only the text contains it.
            self.assertIsNone(refused.structured_content)

    async def test_the_gateway_shows_the_bound_tool_as_it_is(self):
        async with self.client() as client:
            arguments = {"agent_id": "scanner", "server": "scanner-catalog"}
            result = await client.call_tool("get_server_tools", arguments)
            [tool] = json.loads(result.content[0].text)["tools"]
            self.assertEqual(tool["name"], "load_context")
            self.assertEqual(tool["inputSchema"]["properties"], {})
            self.assertIn("Names and numbers", tool["description"])
