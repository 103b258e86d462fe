"""A home with a map and a `keyhole` on the path, for one client."""

import os
import pathlib
import tempfile
import tomllib

HERE = pathlib.Path(__file__).parent
ROOT = HERE.resolve().parents[1]
SERVER = os.environ["KEYHOLE_BIN"]
EXAMPLES = ROOT / "docs/examples"
CASES = tomllib.loads((HERE / "cases.toml").read_text())
DOCUMENT = CASES["document"]
# Nobody else may write where the files of a map are.
os.umask(0o077)


class World:
    """Removed when the test ends. `map` is the text of the map."""

    def __init__(self, test, map=(EXAMPLES / "context-map.toml").read_text()):
        directory = tempfile.TemporaryDirectory(prefix="keyhole-")
        test.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.map = self.put("configuration/keyhole/context-map.toml", map)
        commands = self.home / "bin"
        commands.mkdir()
        (commands / "keyhole").symlink_to(SERVER)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{commands}:{os.environ['PATH']}",
            # Not under HOME/.config: a server that loses this variable serves no map.
            "XDG_CONFIG_HOME": str(self.home / "configuration"),
        }

    def put(self, path, text):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path
