"""The plugin's package for Windows: what its files have the client start, started under
wine, in the words and with the variables that the client gives. No client was run."""

import json
import os
import pathlib
import re
import subprocess
import tarfile
import time
import unittest

from world import BEGIN, DOCUMENT, KEY, WINE, Case, call, folder, packages, project

[SYSTEM] = [one for one in project.SYSTEMS if one.name == "windows-x86_64"]
AGENT = "keyhole:privacy-scanner"
PLACE = "keyhole plugin"
SUBAGENT = "a0123456789abcdef"
# A permit lives for this long, in seconds.
LIFE = 60


class Plugin(Case):
    @classmethod
    def setUpClass(cls):
        if not WINE:
            print(f"skipped: {cls.__module__} (no program for Windows, or no wine: ./x release windows has both)", flush=True)
            raise unittest.SkipTest("nothing to run")
        # A machine of its own: the map has its place in the user's profile.
        cls.prefix = folder()
        cls.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder()),
            "WINEPREFIX": str(cls.prefix),
            "WINEPATH": os.environ["WINEPATH"],
            "WINEDEBUG": "-all",
        }
        # It leaves servers running, which would keep a pipe open.
        nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run([WINE, "wineboot", "--init"], env=cls.environment, check=True, timeout=600, **nowhere)
        drive = cls.prefix / "drive_c"
        [users] = [one for one in (drive / "users").iterdir() if one.name != "Public"]
        profile = users / "AppData/Roaming/keyhole"
        profile.mkdir(parents=True)
        (profile / "notes.md").write_text(DOCUMENT)
        (profile / "context-map.toml").write_text(f'[keys]\n"{KEY}" = {{ path = "notes.md", agents = ["{AGENT}"] }}\n')
        with tarfile.open(packages() / f"keyhole-plugin-{SYSTEM.name}.tar.gz") as archive:
            archive.extractall(drive / PLACE)
        (drive / PLACE / "data").mkdir()
        # What a client keeps of a subagent.
        records = drive / PLACE / "session/subagents"
        records.mkdir(parents=True)
        (records / f"agent-{SUBAGENT}.meta.json").write_text("{}")
        cls.plugin = drive / PLACE / "keyhole-plugin/plugin"
        cls.root = rf"C:\{PLACE}\keyhole-plugin\plugin"
        cls.data = rf"C:\{PLACE}\data"

    @classmethod
    def tearDownClass(cls):
        subprocess.run([pathlib.Path(WINE).with_name("wineserver"), "--kill"], env=cls.environment, capture_output=True)

    def starts(self, command, *arguments, input="", data=None):
        """The words as the client replaces its names in them, with no shell in between."""
        words = [
            word.replace("${CLAUDE_PLUGIN_ROOT}", self.root).replace("${CLAUDE_PLUGIN_DATA}", self.data)
            for word in (command, *arguments)
        ]
        return subprocess.run(
            [WINE, *words],
            input=input,
            capture_output=True,
            text=True,
            env={**self.environment, "CLAUDE_PLUGIN_ROOT": self.root, "CLAUDE_PLUGIN_DATA": data or self.data},
            timeout=600,
        )

    def guards(self):
        hooks = json.loads((self.plugin / "hooks/hooks.json").read_text())["hooks"]
        return [(group["matcher"], hook) for group in hooks["PreToolUse"] for hook in group["hooks"]]

    def ask(self, matcher, hook, id, **caller):
        question = {
            "hook_event_name": "PreToolUse",
            "tool_name": matcher,
            "tool_use_id": id,
            "tool_input": {"key": KEY},
            "transcript_path": rf"C:\{PLACE}\session.jsonl",
            **caller,
        }
        ran = self.starts(hook["command"], *hook["args"], input=json.dumps(question))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)["hookSpecificOutput"]["permissionDecision"]

    def permitted(self, id, *ids, data=None):
        """What calls with these ids are answered, after the guard has let the first through.
        All of it is done again if a machine is so busy that a call is stopped, or that the
        permit may have become void."""
        (matcher, hook), _ = self.guards()
        for attempt in range(10):
            began = time.monotonic()
            ours = [f"{one}_{attempt}" for one in (id, *ids)]
            agent = {"agent_id": SUBAGENT, "agent_type": AGENT}
            self.assertEqual(self.ask(matcher, hook, ours[0], **agent), "allow")
            answers = self.answers(*ours, data=data)
            stopped = any(one.startswith(("timed-out: ", "busy: ")) for one in answers)
            void = DOCUMENT not in answers and time.monotonic() - began >= LIFE
            if not stopped and not void:
                break
        return answers

    def answers(self, *ids, data=None):
        server = json.loads((self.plugin / ".mcp.json").read_text())["mcpServers"]["context"]
        calls = []
        for number, id in enumerate(ids, 1):
            one = call(number, KEY)
            one["params"]["_meta"] = {"claudecode/toolUseId": id}
            calls.append(one)
        lines = "".join(f"{json.dumps(one)}\n" for one in [*BEGIN, *calls])
        ran = self.starts(server["command"], *server["args"], input=lines, data=data)
        found = {one["id"]: one["result"] for one in map(json.loads, ran.stdout.splitlines())}
        texts = [found[number]["content"][0]["text"] for number in range(1, len(ids) + 1)]
        # Of each caller that is not verified it says why.
        code = "caller-not-verified: "
        said = [line for line in ran.stderr.splitlines() if not line.startswith(f"keyhole: {code}")]
        self.assertEqual((ran.returncode, said), (0, []))
        self.assertEqual(len(ran.stderr.splitlines()), sum(text.startswith(code) for text in texts))
        return texts

    def test_its_guard_lets_the_agent_through_and_its_server_serves_that_call_once(self):
        *same, other = self.permitted("toolu_1", "toolu_1", "toolu_2")
        # Calls run side by side: either of the two may be the one that is served.
        self.assertEqual(same.count(DOCUMENT), 1, same)
        same.remove(DOCUMENT)
        for refused in (*same, other):
            self.assertTrue(refused.startswith("caller-not-verified: "), refused)

    def test_a_data_folder_that_is_named_with_slashes_is_the_same_one(self):
        # As the client names it to a hook's shell, and so to the module.
        self.assertEqual(self.permitted("toolu_5", data=self.data.replace("\\", "/")), [DOCUMENT])

    def test_its_guard_denies_the_main_conversation_and_another_agent(self):
        (matcher, hook), _ = self.guards()
        self.assertEqual(self.ask(matcher, hook, "toolu_3"), "deny")
        other = {"agent_id": SUBAGENT, "agent_type": "general-purpose"}
        self.assertEqual(self.ask(matcher, hook, "toolu_4", **other), "deny")
        [refused] = self.answers("toolu_4")
        self.assertTrue(refused.startswith("caller-not-verified: "), refused)

    def test_a_guard_that_an_older_client_starts_without_its_words_denies(self):
        for _, hook in self.guards():
            self.assertEqual(self.starts(hook["command"]).returncode, 2)

    def test_its_module_starts_what_says_whom_the_map_names(self):
        module = (self.plugin / "hooks/register.ts").read_text()
        [program] = re.findall(r"^const program = .* => \[`(.+)`\]$", module, re.MULTILINE)
        ran = self.starts(program.replace("${root}", self.root), "agents")
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{AGENT}\n"), ran.stderr)
