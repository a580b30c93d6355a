"""Common English words from SCOWL, with the size class as the number.

SCOWL's classes: 10 and 20 are the most common words, 35 small dictionaries,
40 and 50 medium ones. Possessives and capitalised words are left out: the list
says which lower-case words exist, so that a capital at the start of a sentence
or in a heading is not taken for a name.
"""

import sys
from pathlib import Path

from common import write_items

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/dict/scowl")
CLASSES = (10, 20, 35, 40, 50)


def main() -> None:
    entries = {}
    for size in CLASSES:
        for group in ("english-words", "american-words"):
            path = FOLDER / f"{group}.{size}"
            if not path.exists():
                continue
            for word in path.read_text(encoding="latin-1").splitlines():
                if word.isalpha() and word.islower() and len(word) > 1:
                    entries.setdefault(word, size)
    write_items("english-words", entries, "English words, SCOWL 2020.12.07 classes 10 to 50; column: size class (10 = most common)")


if __name__ == "__main__":
    main()
