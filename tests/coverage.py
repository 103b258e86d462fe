"""What `./x coverage` counted, as a table: by file, and by folder.

    coverage.py FOLDER LLVM_COV

In the folder are `all.profdata`, the program `keyhole`, and in `built` what cargo said
of the test programs. Tests at the end of a file are not counted as its lines.
"""

import collections
import json
import os
import re
import subprocess
import sys

NOT_OURS = "/(tests|benches|componentize|guest/(cases|native))/|tests[.]rs$"


def export(llvm_cov, folder, how):
    with open(os.path.join(folder, "built")) as said:
        units = [json.loads(line) for line in said if line.startswith("{")]
    programs = [unit["executable"] for unit in units if unit.get("executable")]
    objects = [argument for program in programs for argument in ("-object", program)]
    profile = "--instr-profile=" + os.path.join(folder, "all.profdata")
    command = [llvm_cov, "export", profile, "--ignore-filename-regex=" + NOT_OURS, *how]
    run = subprocess.run(
        [*command, os.path.join(folder, "keyhole"), *objects], check=True, stdout=subprocess.PIPE, text=True
    )
    return run.stdout


def lines_of(report):
    """By file: whether each line was reached."""
    files = {}
    for entry in report.splitlines():
        what, _, rest = entry.partition(":")
        if what == "SF":
            lines = files.setdefault(os.path.relpath(rest), {})
        elif what == "DA":
            number, times = rest.split(",")[:2]
            lines[int(number)] = int(times) > 0
    return files


def branches_of(report):
    """By file: whether each way of each condition was taken, in any of the places
    where the function was compiled."""
    files = {}
    for file in json.loads(report)["data"][0]["files"]:
        taken = files.setdefault(os.path.relpath(file["filename"]), collections.Counter())
        for *place, yes, no, _, _, _ in file["branches"]:
            taken[*place, True] += yes
            taken[*place, False] += no
    return files


def last_line(name):
    with open(name) as file:
        text = file.read()
    tests = re.search(r"^#\[cfg\(test\)\]\nmod tests \{", text, re.MULTILINE)
    return text.count("\n", 0, tests.start() if tests else None)


def share(part, whole):
    return f"{part}/{whole} {100 * part // whole:3}%" if whole else "-"


def main():
    folder, llvm_cov = sys.argv[1:]
    lcov = export(llvm_cov, folder, ["--format=lcov"])
    with open(os.path.join(folder, "lcov.info"), "w") as out:
        out.write(lcov)
    branches = branches_of(export(llvm_cov, folder, ["--format=text"]))
    rows = collections.defaultdict(lambda: [0] * 4)
    for name, lines in lines_of(lcov).items():
        if name.startswith(".."):
            continue
        end = last_line(name)
        lines = [reached for line, reached in lines.items() if line <= end]
        ways = [times > 0 for place, times in branches.get(name, {}).items() if place[0] <= end]
        for row in (name, os.path.dirname(name) + "/"):
            for at, reached in ((0, lines), (2, ways)):
                rows[row][at] += sum(reached)
                rows[row][at + 1] += len(reached)
    print(f"{'':40}{'lines':>16}{'branches':>16}")
    for name, (line, lines, branch, branches) in sorted(rows.items()):
        print(f"{name:40}{share(line, lines):>16}{share(branch, branches):>16}")


main()
