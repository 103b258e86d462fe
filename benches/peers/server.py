"""The same tool as the obvious Python script: `server.py MAP`."""

import sys
import tomllib
from pathlib import Path

from mcp.server import MCPServer

MAP = Path(sys.argv[1])
server = MCPServer("context")


@server.tool()
def load_context(key: str) -> str:
    """Returns one private Markdown document, unchanged, for a key."""
    path = tomllib.loads(MAP.read_text())["keys"].get(key)
    if path is None:
        raise ValueError("unknown key")
    file = MAP.parent / path
    if file.suffix != ".md":
        raise ValueError("not markdown")
    return file.read_text()


server.run("stdio")
