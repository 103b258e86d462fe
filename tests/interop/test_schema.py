"""The map's schema and the parser agree, as far as a schema can tell."""

import json
import subprocess
import tomllib
import unittest

import jsonschema
from world import EXAMPLES, ROOT, SERVER, World

KEYS = "[keys]\nk-a = 'a.md'\n"

VALID = [
    "",
    "[keys]\n",
    KEYS,
    f"roots = ['~/a', '/b']\nmax_bytes = 8388608\n{KEYS}",
    "[keys]\nk-a = { path = '~/a.md', max_bytes = 1, agents = ['acme:reviewer'] }\n",
    f"[keys]\n\"{'~' * 128}\" = '../a.md'\n",
    f"{KEYS}[bindings.a-1]\npath = 'a.md'\ntitle = 'T'\ndescription = '{'d' * 400}'\n",
    "[bindings]\na = { path = '~/a.md', max_bytes = 1, agents = ['acme:reviewer'] }\n",
]
INVALID = [
    "[bindings.a]\npath = 'a.md'\ntitle = \"a\\u202eb\"\n",
    "[bindings.a]\npath = 'a.md'\ndescription = \"a\\u2028b\"\n",
    "root = ['/a']\n",
    "roots = []\n",
    "roots = ['a']\n",
    "roots = '/a'\n",
    "max_bytes = 0\n",
    "max_bytes = 8388609\n",
    "max_bytes = '1'\n",
    "keys = []\n",
    "[keys]\n\"a b\" = 'a.md'\n",
    f"[keys]\n{'k' * 129} = 'a.md'\n",
    "[keys]\nk-a = 1\n",
    "[keys]\nk-a = ''\n",
    "[keys]\nk-a = '~user/a.md'\n",
    "[keys]\nk-a = { max_bytes = 1 }\n",
    "[keys]\nk-a = { path = 'a.md', agent = 'x' }\n",
    "[keys]\nk-a = { path = 'a.md', agents = [] }\n",
    "[keys]\nk-a = { path = 'a.md', agents = ['a b'] }\n",
    "[bindings.A]\npath = 'a.md'\n",
    "[bindings.a]\n",
    "[bindings]\na = 'a.md'\n",
    "[bindings.a]\nkey = 'k'\n",
    "[bindings.a]\npath = 'a.md'\nkey_env = 'K'\n",
    "[bindings.a]\npath = 'a.md'\nmax_bytes = 0\n",
    "[bindings.a]\npath = 'a.md'\nagents = []\n",
    "[bindings.a]\npath = ''\n",
    "[bindings.a]\npath = 'a.md'\nrole = 'r'\n",
    "[bindings.a]\npath = 'a.md'\ntitle = ''\n",
    f"[bindings.a]\npath = 'a.md'\ntitle = '{'t' * 81}'\n",
    f"[bindings.a]\npath = 'a.md'\ndescription = '{'d' * 401}'\n",
    "[bindings.a]\npath = 'a.md'\ndescription = \"a\\nb\"\n",
]


class Schema(unittest.TestCase):
    def setUp(self):
        schema = json.loads((ROOT / "docs/context-map.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validator = jsonschema.Draft202012Validator(schema)

    def both(self, text):
        """What the schema and the parser say: whether it is valid."""
        world = World(self, text)
        command = [SERVER, "check", "--json", "--map", str(world.map)]
        ran = subprocess.run(command, capture_output=True, env=world.environment, timeout=60)
        error = json.loads(ran.stdout)["error"]
        self.assertIn(error and error["code"], [None, "map-invalid"])
        return self.validator.is_valid(tomllib.loads(text)), error is None

    def test_what_is_valid_or_invalid_is_so_to_both(self):
        valid = [*VALID, (EXAMPLES / "context-map.toml").read_text()]
        for text, expected in [*((text, True) for text in valid), *((text, False) for text in INVALID)]:
            with self.subTest(text):
                self.assertEqual(self.both(text), (expected, expected))
