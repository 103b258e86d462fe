"""Gives Bernstein's workers a private context from Keyhole.

A plugin: its hook `provide_mcp_servers` says which `keyhole serve` a task gets,
and for which words in it. What it says is read from the user's own
`bernstein.toml`, beside the map; see README.md.
"""

import os
import pathlib
import re
import tomllib

from bernstein.plugins import hookimpl

__all__ = ["Keyhole", "Wrong", "servers"]

# The fields of a [[server]], and the type of each.
FIELDS = {"bind": str, "command": str, "keywords": list, "capabilities": list}
# As in the map: a binding's name.
BINDING = re.compile(r"[a-z0-9-]{1,64}")


class Wrong(ValueError):
    """`bernstein.toml` is not what it must be. The text says what to mend."""


class Keyhole:
    """The plugin, as Bernstein makes it from its entry point."""

    @hookimpl
    def provide_mcp_servers(self):
        """The servers of `bernstein.toml`, in the form that Bernstein takes.

        None where there is no such file: nothing is given that was not asked for.
        A wrong file raises `Wrong`: Bernstein logs it, and no server is given.
        """
        path = configuration()
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return servers(text)


def configuration():
    """Where `bernstein.toml` is: beside Keyhole's map."""
    home = os.environ.get("XDG_CONFIG_HOME")
    # As for the map: a relative path does not count.
    base = pathlib.Path(home) if home and os.path.isabs(home) else pathlib.Path.home() / ".config"
    return base / "keyhole/bernstein.toml"


def servers(text):
    """The text of a `bernstein.toml` as a list of Bernstein's server definitions.

    Raises `Wrong` for anything that is not known.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Wrong(f"bernstein.toml is not TOML: {error}") from error
    listed = data.pop("server", [])
    if data or not isinstance(listed, list):
        raise Wrong("bernstein.toml may hold [[server]] tables, and nothing else")
    made = [definition(server) for server in listed]
    names = [server["name"] for server in made]
    if len(set(names)) != len(names):
        raise Wrong("bernstein.toml: two [[server]] tables have the same bind, or none")
    return made


def definition(server):
    """One [[server]] table as a server definition."""
    if not isinstance(server, dict):
        raise Wrong("bernstein.toml: write each server as a [[server]] table")
    for field, value in server.items():
        if field not in FIELDS or not isinstance(value, FIELDS[field]):
            known = ", ".join(FIELDS)
            raise Wrong(f"bernstein.toml: {field!r} is unknown or has the wrong type; a [[server]] has {known}")
    bind = server.get("bind")
    if bind is not None and not BINDING.fullmatch(bind):
        raise Wrong("bernstein.toml: bind is a name from the map's [bindings]")
    tags = {field: server.get(field, []) for field in ("keywords", "capabilities")}
    for field, values in tags.items():
        # A blank keyword would be found in every task.
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise Wrong(f"bernstein.toml: each of {field} is a word or more")
    if not any(tags.values()):
        raise Wrong("bernstein.toml: a [[server]] without keywords or capabilities would go to no task")
    return {
        "name": bind or "context",
        # Bernstein requires a package; it installs it only if there are no args.
        "package": "keyhole",
        "command": server.get("command", "keyhole"),
        "args": ["serve", *(["--bind", bind] if bind else [])],
        # These say where the map is, and are no secret. If a variable is named here and
        # not set, Bernstein drops the server.
        "env_required": ["XDG_CONFIG_HOME"] if os.environ.get("XDG_CONFIG_HOME") else [],
        **tags,
    }
