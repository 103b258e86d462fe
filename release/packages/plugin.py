"""The plugin's package for one system: a fourth of what the one for all weighs. It is
the same but for the programs, and the lines of the manifest that name them.

Windows has no `sh`, and the client there may have neither Git's shell nor Node. In a
package for Windows, the client starts the program itself, from where it unpacked it: the
server and the guard alike, each by a list of words that no shell reads. So there is no
start.sh, and nothing to install."""

import json
import pathlib
import sys

from archives import tar_gz
from project import CannotPack, programs, this_system

FOLDER = "keyhole-plugin"
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
# What the plugin's own files say, and what they say in a package without a shell.
LAUNCHER = [f"{PLUGIN_ROOT}/start.sh", "${CLAUDE_PLUGIN_DATA}"]
HOOK = f'sh "{LAUNCHER[0]}" "{LAUNCHER[1]}" '
MODULE = (
    "const program = (root: string, data: string): [string, ...string[]] => ['sh', `${root}/start.sh`, data]\n",
    "const program = (root: string, _: string): [string, ...string[]] => [`${root}/PROGRAM`]\n",
)


def pack(found, dist):
    files = files_of(dist)
    for program in found:
        alone = for_one(files, program)
        content = {f"{FOLDER}/{path}": file for path, file in alone.items()}
        yield f"{FOLDER}-{program.system.name}.tar.gz", tar_gz({FOLDER: (0o755, None), **content})


def files_of(dist):
    """The files of the package for all, without the programs."""
    files = {}
    for path in sorted(pathlib.Path(dist).rglob("*")):
        name = path.relative_to(dist).as_posix()
        if path.is_dir():
            files[name] = (0o755, None)
        elif not name.startswith("plugin/server/"):
            files[name] = (0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes())
    return files


def for_one(files, program):
    """The same, with this program."""
    its = f"server/{program.system.program}"
    manifest = files["plugin/manifest.sha256"][1].decode().splitlines(keepends=True)
    others = [line for line in manifest if "  server/" not in line]
    alone = {
        **files,
        "plugin/manifest.sha256": (0o644, "".join([f"{program.sha256}  {its}\n", *others]).encode()),
        f"plugin/{its}": (0o755, program.content),
    }
    return without_shell(alone, its) if program.system.is_windows else alone


def without_shell(files, program):
    """The same, with a client that starts this program by its path in the plugin."""
    files = dict(files)
    del files["plugin/start.sh"]

    def change(name, how):
        mode, content = files[f"plugin/{name}"]
        files[f"plugin/{name}"] = (mode, how(content.decode()).encode())

    change(".mcp.json", lambda text: servers(json.loads(text), program))
    change("hooks/hooks.json", lambda text: hooks(json.loads(text), program))
    change("hooks/register.ts", lambda text: module(text, program))
    for name, (_, content) in files.items():
        if name.endswith((".json", ".ts")) and b"start.sh" in content:
            raise CannotPack(f"{name} still starts what is not in a package without a shell")
    return files


def servers(configuration, program):
    for server in configuration["mcpServers"].values():
        if server["command"] != "sh" or server["args"][: len(LAUNCHER)] != LAUNCHER:
            raise CannotPack(".mcp.json starts a server otherwise than by start.sh")
        server["command"] = f"{PLUGIN_ROOT}/{program}"
        server["args"] = server["args"][len(LAUNCHER) :]
    return json.dumps(configuration, indent=2) + "\n"


def hooks(configuration, program):
    # There is nothing to install.
    starts = configuration["hooks"]["SessionStart"]
    starts[:] = [group for group in starts if not group["hooks"][0]["command"].endswith(" install")]
    for groups in configuration["hooks"].values():
        for hook in (hook for group in groups for hook in group["hooks"]):
            if not hook["command"].startswith(HOOK):
                raise CannotPack("hooks/hooks.json runs something otherwise than by start.sh")
            # With `args`, the client starts the command itself, without a shell.
            hook["args"] = hook["command"].removeprefix(HOOK).split(" ")
            hook["command"] = f"{PLUGIN_ROOT}/{program}"
    configuration["description"] = "Lets only subagents call the server, and replaces the result of any other server"
    return json.dumps(configuration, indent=2) + "\n"


def module(text, program):
    of_shell, own = MODULE
    if text.count(of_shell) != 1:
        raise CannotPack("hooks/register.ts does not have its one line for what runs the program")
    return text.replace(of_shell, own.replace("PROGRAM", program))


def main(dist, out):
    """For a test in the client, where there is no Windows: the package in `dist` with this
    system's program, and without a shell."""
    [program] = [one for one in programs(dist) if one.system == this_system()]
    alone = for_one(files_of(dist), program)
    for name, (mode, content) in without_shell(alone, f"server/{program.system.program}").items():
        path = pathlib.Path(out) / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


if __name__ == "__main__":
    main(*sys.argv[1:])
