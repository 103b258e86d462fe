#!/usr/bin/env python3
"""Adds the common words of code to words.txt: python3 words.py FOLDER

FOLDER has the sources of crates, a folder each, as Cargo keeps them after `cargo fetch`. A word is
common if one crate in 25 has it. Names are left out: words that are often written with a capital,
and those in NAMES, which were seen by hand. So are words that may be digits in base 16. Words that the
list has already stay as they are. The program reads words.txt as it is; this only says where its
words of code are from.
"""
import collections
import pathlib
import re
import sys

NAMES = {"alexcrichton", "amaster", "dtolnay", "keepachangelog", "travis", "vita"}
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LIST = pathlib.Path(__file__).with_name("words.txt")
# The list's number for a word that is a value only with a capital.
ORDINARY = 1


def words_in(crate):
    """The words of a crate's sources and pages, as they are written."""
    found = set()
    for path in crate.rglob("*"):
        if path.suffix in (".rs", ".md", ".toml") and path.is_file():
            found.update(WORD.findall(path.read_text(errors="ignore")[:300_000]))
    return found


def main(folder):
    lines = LIST.read_text().splitlines()
    known = {line.split()[0] for line in lines}
    small, capital = collections.Counter(), collections.Counter()
    crates = [crate for crate in sorted(folder.iterdir()) if crate.is_dir()]
    for crate in crates:
        words = words_in(crate)
        is_name = re.compile(r"[A-Z][a-z]+").fullmatch
        capital.update({word.lower() for word in words if is_name(word)})
        small.update({word.lower() for word in words if not is_name(word)})
    for word, count in small.items():
        is_common = count * 25 >= len(crates) and count >= 2 * capital[word]
        is_word = 3 <= len(word) <= 14 and not re.fullmatch("[a-fx]+", word)
        if is_common and is_word and word not in known | NAMES:
            lines.append(f"{word} {ORDINARY}")
    LIST.write_text("\n".join(sorted(lines, key=lambda line: line.split()[0])) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
