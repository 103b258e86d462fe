"""An orchestrator that gives each of its workers its own servers."""

import asyncio
import unittest

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from world import World

MAP = """[keys]
k-names = '~/names.md'
k-prices = { path = '~/prices.md', agents = ['buyer'] }
[bindings.names]
key = 'k-names'
title = 'Names'
[bindings.prices]
key = 'k-prices'
title = 'Prices'
"""
# What the orchestrator starts for each worker, and what that worker should have.
WORKERS = {
    "reader": (["--bind", "names"], "Names", "- Jane Q. Example\n"),
    "buyer": (["--bind", "prices", "--agent", "buyer"], "Prices", "- 12 a piece\n"),
}


class Orchestrator(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.world = World(self, MAP)
        self.world.put("names.md", WORKERS["reader"][2])
        self.world.put("prices.md", WORKERS["buyer"][2])

    async def work(self, name, ready):
        """One worker: all that it can see, and all that it can load."""
        # It alone holds its server's streams.
        arguments = ["serve", *WORKERS[name][0]]
        server = StdioServerParameters(command="keyhole", args=arguments, env=self.world.environment)
        async with Client(stdio_client(server)) as client:
            await ready.wait()
            [tool] = (await client.list_tools()).tools
            result = await client.call_tool("load_context", {})
            self.assertFalse(result.is_error)
            # It cannot ask for another key, not even for one that exists.
            for key in ["k-names", "k-prices"]:
                refused = await client.call_tool("load_context", {"key": key})
                self.assertTrue(refused.is_error)
            return tool, result.content[0].text

    async def test_each_worker_gets_its_own_context_and_no_other(self):
        # Both run at the same time.
        ready = asyncio.Barrier(len(WORKERS))
        done = await asyncio.gather(*(self.work(name, ready) for name in WORKERS))
        for (_, title, document), (tool, text) in zip(WORKERS.values(), done, strict=True):
            self.assertEqual(tool.title, title)
            self.assertEqual(text, document)
            for _, other, _ in WORKERS.values():
                self.assertEqual(other in tool.model_dump_json(), other == title)


if __name__ == "__main__":
    unittest.main()
