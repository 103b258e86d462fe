"""The official Python client, in both protocols."""

import unittest

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from world import CASES, DOCUMENT, SERVER, World

# The client's name for the protocol, and the version that is then spoken.
MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


class PythonSdk(unittest.IsolatedAsyncioTestCase):
    async def in_each_mode(self, play, *arguments):
        """Calls `play(client)`."""
        world = World(self, CASES["map"])
        world.put("notes/good.md", DOCUMENT)
        server = StdioServerParameters(command=SERVER, args=["serve", *arguments], env=world.environment)
        for mode, version in MODES:
            with self.subTest(mode):
                async with Client(stdio_client(server), mode=mode) as client:
                    self.assertEqual(client.protocol_version, version)
                    await play(client)

    def load(self, client, **arguments):
        return client.call_tool("load_context", arguments)

    async def test_the_one_tool_is_listed_its_document_comes_unchanged_and_each_refusal_arrives(self):
        async def play(client):
            [tool] = (await client.list_tools()).tools
            self.assertEqual((tool.name, tool.input_schema["required"]), ("load_context", ["key"]))
            result = await self.load(client, key="k-good")
            self.assertFalse(result.is_error)
            self.assertEqual([block.text for block in result.content], [DOCUMENT])
            for one in CASES["refused"]:
                result = await self.load(client, **one["arguments"])
                self.assertTrue(result.is_error)
                self.assertEqual((result.structured_content or {}).get("code"), one.get("code"))
                self.assertTrue(result.content[0].text.startswith(one["says"]), result.content[0].text)
            with self.assertRaises(MCPError) as raised:
                await client.call_tool("load_other", {"key": "k-good"})
            self.assertEqual(raised.exception.error.code, -32602)

        await self.in_each_mode(play)

    async def test_a_bound_server_takes_no_key(self):
        async def play(client):
            [tool] = (await client.list_tools()).tools
            self.assertEqual((tool.title, tool.input_schema["properties"]), ("The catalogue", {}))
            self.assertEqual((await self.load(client)).content[0].text, DOCUMENT)
            refused = await self.load(client, key="k-good")
            self.assertTrue(refused.is_error)
            self.assertIn("no arguments", refused.content[0].text)

        await self.in_each_mode(play, "--bind", "catalog")
