"""The official Python client, in both protocols."""

import asyncio
import pathlib
import tomllib
import unittest

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from world import DOCUMENT, SERVER, World

MAP = (pathlib.Path(__file__).parent / "map.toml").read_text()
REFUSALS = ["unknown-key", *(key[2:] for key in tomllib.loads(MAP)["keys"] if key != "k-good")]
# The client's name for the protocol, and the version that is then spoken.
MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


class PythonSdk(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.world = World(self, MAP)
        self.world.put("notes/good.md", DOCUMENT)
        self.world.put("notes/a.txt", "text")
        self.world.put("notes/latin.md", b"\xe9")
        self.world.put("out.md", "out")
        (self.world.home / "notes/directory.md").mkdir()

    def client(self, mode, *arguments):
        server = StdioServerParameters(
            command=SERVER, args=["serve", *arguments], env=self.world.environment
        )
        return Client(stdio_client(server), mode=mode)

    async def load(self, client, key):
        return await client.call_tool("load_context", {"key": key})

    async def test_each_mode_speaks_its_protocol_and_gets_the_document(self):
        for mode, version in MODES:
            with self.subTest(mode):
                async with self.client(mode) as client:
                    self.assertEqual(client.protocol_version, version)
                    tools = (await client.list_tools()).tools
                    self.assertEqual([tool.name for tool in tools], ["load_context"])
                    result = await self.load(client, "k-good")
                    self.assertFalse(result.is_error)
                    self.assertEqual([block.text for block in result.content], [DOCUMENT])

    async def test_each_refusal_arrives_with_its_code_as_text_and_as_data(self):
        for mode, _ in MODES:
            async with self.client(mode) as client:
                for code in REFUSALS:
                    with self.subTest(mode=mode, code=code):
                        result = await self.load(client, f"k-{code}")
                        self.assertTrue(result.is_error)
                        self.assertEqual(result.structured_content["code"], code)
                        self.assertTrue(result.content[0].text.startswith(f"{code}: "))

    async def test_wrong_arguments_are_a_result_that_says_what_to_send(self):
        for mode, _ in MODES:
            async with self.client(mode) as client:
                for arguments in [{"key": "k-good", "path": "/etc"}, {"key": 5}, {}]:
                    with self.subTest(mode=mode, arguments=arguments):
                        result = await client.call_tool("load_context", arguments)
                        self.assertTrue(result.is_error)
                        self.assertIn('exactly one, "key"', result.content[0].text)
                with self.subTest(mode=mode), self.assertRaises(MCPError) as raised:
                    await client.call_tool("load_other", {"key": "k-good"})
                self.assertEqual(raised.exception.error.code, -32602)

    async def test_a_cancelled_call_ends_and_the_session_goes_on(self):
        for mode, _ in MODES:
            with self.subTest(mode):
                async with self.client(mode) as client:
                    # After 16 of these, one short key a second is looked up. So when one
                    # more was answered, others wait, which can be cancelled.
                    for guess in range(16):
                        await self.load(client, f"k-guess-{guess}")
                    calls = [asyncio.create_task(self.load(client, "k-guess")) for _ in range(8)]
                    _, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                    self.assertTrue(waiting)
                    for call in waiting:
                        call.cancel()
                    for call in waiting:
                        with self.assertRaises(asyncio.CancelledError):
                            await call
                    result = await self.load(client, "k-good")
                    self.assertEqual(result.content[0].text, DOCUMENT)

    async def test_a_bound_server_takes_no_key(self):
        for mode, _ in MODES:
            with self.subTest(mode):
                async with self.client(mode, "--bind", "catalog") as client:
                    [tool] = (await client.list_tools()).tools
                    self.assertEqual(tool.title, "The catalogue")
                    self.assertEqual(tool.input_schema["properties"], {})
                    result = await client.call_tool("load_context", {})
                    self.assertEqual(result.content[0].text, DOCUMENT)
                    refused = await self.load(client, "k-good")
                    self.assertTrue(refused.is_error)
                    self.assertIn("no arguments", refused.content[0].text)


if __name__ == "__main__":
    unittest.main()
