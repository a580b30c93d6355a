"""GEMINI's pyDeid with all its types, none of a site's own lists, and no spaCy model."""
# The registry's `pydeid` is an unrelated empty package: this import fails there instead of finding nothing.
from pyDeid.pyDeidBuilder import pyDeidBuilder

from tools import common

TYPES = ["names", "dates", "sin", "ohip", "mrn", "locations", "hospitals", "contact"]
# Types are phrases, as in "Last Name (un)" or "Month Day Year (2)"; the first word here that one holds decides.
CATEGORIES = {
    "ID": ("mrn", "ohip", "ssn"),
    "CONTACT": ("telephone", "fax", "email"),
    "LOCATION": ("hospital", "site", "address", "street", "postal", "zip", "location"),
    "DATE": ("date", "day", "month", "year", "holiday", "season", "time"),
    "NAME": ("name", "prefix"),
}


def category(types):
    types = (types if isinstance(types, str) else " ".join(map(str, types))).lower()
    if "sin" in types.split():
        return "ID"
    return next((name for name, words in CATEGORIES.items() if any(word in types for word in words)), "OTHER")


def finder():
    # It reports positions only if it also replaces the text.
    deid = pyDeidBuilder().replace_phi().set_phi_types(TYPES).set_valid_years(30, 1900, 2050).build()

    def find(text):
        found, _ = deid.handler.handle_string(text)
        return [(each["phi_start"], each["phi_end"], category(each["types"])) for each in found]

    return find


if __name__ == "__main__":
    common.run("pyDeid", finder())
