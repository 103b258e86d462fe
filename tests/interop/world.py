"""A home with a map and a `keyhole` on the path, for one client."""

import os
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = os.environ["KEYHOLE_BIN"]
EXAMPLES = ROOT / "docs/examples"
DOCUMENT = "# Title\r\n\n\ufeff\"quoted\" \\ \U0001f511\n"


class World:
    """Removed when the test ends. `map` is the text of the map."""

    def __init__(self, test, map):
        directory = tempfile.TemporaryDirectory(prefix="keyhole-")
        test.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.configuration = self.home / "configuration"
        self.map = self.put("configuration/keyhole/context-map.toml", map)
        commands = self.home / "bin"
        commands.mkdir()
        (commands / "keyhole").symlink_to(SERVER)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{commands}:{os.environ['PATH']}",
            # Not under HOME/.config: a server that loses this variable serves no map.
            "XDG_CONFIG_HOME": str(self.configuration),
        }

    def put(self, path, content):
        """Writes a file in the home, text or bytes, and only its owner may read it."""
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        for directory in path.parents:
            if self.home in directory.parents:
                directory.chmod(0o700)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)
        return path
