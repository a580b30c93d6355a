"""Shared code of the generators: the folder of lists, and writing them.

Lists are sorted by code point and written once per entry, so a second run on
the same package version gives the same bytes.
"""

import re
import unicodedata
from pathlib import Path

LISTS = Path(__file__).resolve().parent.parent / "lists"


def fold(text: str) -> str:
    """Returns lower case without accents, close enough to the Rust crate's folding to build lists."""
    table = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
    text = unicodedata.normalize("NFD", text.lower().translate(table))
    return "".join(c for c in text if not unicodedata.combining(c))


def is_latin(text: str) -> bool:
    """Returns whether a Latin-script dictionary can match a name."""
    return all(c in " .'’-/&" or "LATIN" in unicodedata.name(c, "") for c in text)


def write_items(list_id: str, entries: dict, header: str) -> None:
    """Writes `entries` (text -> number or None) as items.txt, with `header` as comments."""
    folder = LISTS / list_id
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {line}" for line in header.strip().splitlines()]
    for text in sorted(entries):
        value = entries[text]
        lines.append(text if value is None else f"{text}\t{value}")
    (folder / "items.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{list_id}: {len(entries)} entries")


def write_exceptions(list_id: str, entries, header: str) -> None:
    """Writes exceptions.txt: entries of the list that are ordinary words too."""
    lines = [f"# {line}" for line in header.strip().splitlines()] + sorted(set(entries))
    (LISTS / list_id / "exceptions.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{list_id}: {len(set(entries))} exceptions")


def read(list_id: str, name: str = "items.txt") -> dict:
    """Reads a list back as text -> number, or None without one; a missing file is an empty list."""
    path = LISTS / list_id / name
    entries = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                text, _, value = line.partition("\t")
                entries[text] = int(value) if value else None
    return entries


def words(text: str) -> list:
    """Splits a block of hand-written words, one or many a line; `#` starts a comment."""
    return [w for line in text.splitlines() for w in re.split(r"\s+", line.split("#")[0].strip()) if w]
