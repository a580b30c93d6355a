"""Reads the authors' own files of lists, which are blocks with a name each."""

import re
from pathlib import Path

OWN = Path(__file__).resolve().parent / "own"


def sections(file: str) -> dict:
    """Reads a file of `[section]` blocks as section -> text."""
    text = "\n".join(line for line in (OWN / file).read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    parts = re.split(r"^\[([\w-]+)\]$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(text: str) -> list:
    """Returns the entries of a block, which lines and semicolons separate."""
    return [e.strip() for e in re.split(r"[;\n]", text) if e.strip()]


def with_shares(names, shares: dict) -> dict:
    """Returns every name with its share; 0 where none is known."""
    return {n: shares.get(n, 0) for n in {*names, *shares}}
