"""US given names and surnames with frequencies, from the Python package `names`.

The package carries the US Census Bureau's 1990 frequency files (public domain).
The census prints a share in percent with three decimals; the lists keep it as
an integer per 100,000 people, so 0 means "rarer than one in 100,000".
"""

import names
from pathlib import Path

from common import write_items

FOLDER = Path(names.__file__).parent
FILES = {
    "us-given-names-female": ("dist.female.first", "Female given names, US Census 1990; column: per 100,000 women"),
    "us-given-names-male": ("dist.male.first", "Male given names, US Census 1990; column: per 100,000 men"),
    "us-surnames": ("dist.all.last", "Surnames, US Census 1990; column: per 100,000 people"),
}


def main() -> None:
    for list_id, (file, header) in FILES.items():
        entries = {}
        for line in (FOLDER / file).read_text(encoding="ascii").splitlines():
            name, percent = line.split()[:2]
            entries[name.capitalize()] = round(float(percent) * 1000)
        write_items(list_id, entries, header)


if __name__ == "__main__":
    main()
