"""Spanish and world personal names: the Python package `Faker` (MIT) and the authors' own additions.

Faker's locale files hold plain lists of names. Latin-script locales are read,
the United States' left out (the census lists cover them). The files under
`own/` are additions that the project's authors wrote from general knowledge.
"""

import importlib
from pathlib import Path

from common import fold, is_latin, read, words, write_items

OWN = Path(__file__).resolve().parent / "own"
SPANISH = ("es_ES", "es_AR", "es_CL", "es_CO", "es_MX")
WORLD = (
    "cs_CZ da_DK de_AT de_CH de_DE de_LI de_LU en_GB en_IE en_IN en_KE en_NG en_NZ en_PK es_CA et_EE fi_FI fr_BE fr_CA "
    "fr_CH fr_FR ga_IE hr_HR hu_HU id_ID ig_NG is_IS it_IT lt_LT lv_LV nl_BE nl_NL no_NO pl_PL pt_BR pt_PT ro_RO sk_SK "
    "sl_SI sv_SE sw tr_TR tw_GH vi_VN yo_NG zu_ZA"
).split()
MALE = ("first_names_male",)
FEMALE = ("first_names_female",)
GIVEN = ("first_names", "first_names_male", "first_names_female")
SURNAMES = ("last_names", "last_names_male", "last_names_female")


def faker_names(locales, attributes) -> set:
    found = set()
    for locale in locales:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for attribute in attributes:
            value = getattr(provider, attribute, ())
            if not isinstance(value, (list, tuple, dict)):
                continue
            found.update(n.strip().replace("’", "'") for n in value)
    return {n for n in found if len(n) > 1 and is_latin(n) and n[0].isupper() and not n.endswith(".")}


def own(name: str) -> set:
    return {w.replace("_", " ") for w in words((OWN / f"{name}.txt").read_text(encoding="utf-8"))}


def bearers(section: str, per: float) -> dict:
    """Folded name -> share per 100,000, from own/es-frequencies.txt (thousands of bearers among `per` million people)."""
    text = (OWN / "es-frequencies.txt").read_text(encoding="utf-8").split(f"[{section}]")[1].split("[")[0]
    parts = words(text)
    return {fold(n.replace("_", " ")): round(int(t) * 100 / per) for n, t in zip(parts[::2], parts[1::2], strict=True)}


def counted(names, shares: dict) -> dict:
    """Every name with its share; 0 where none is known."""
    return {n: shares.get(fold(n), 0) for n in names}


def surname_parts(surnames) -> set:
    """Double surnames in one entry ("García López") are two entries."""
    return {part for s in surnames for part in ([s] if " de " in s.lower() or " " not in s else s.split()) if len(part) > 1}


def main() -> None:
    note = "Faker 40.54.0 (MIT) and the authors' additions"
    share = "; column: per 100,000 in Spain, 0 if not known"
    male = faker_names(SPANISH, MALE) | own("es-given-names-male")
    female = faker_names(SPANISH, FEMALE) | own("es-given-names-female")
    surnames = surname_parts(faker_names(SPANISH, SURNAMES)) | own("es-surnames")
    write_items("es-given-names-male", counted(male, bearers("male", 23.3)), f"Male given names of Spain and Latin America. {note}{share}")
    write_items("es-given-names-female", counted(female, bearers("female", 24.2)), f"Female given names of Spain and Latin America. {note}{share}")
    write_items("es-surnames", counted(surnames, bearers("surnames", 47.5)), f"Surnames of Spain and Latin America. {note}{share}")

    known = {fold(n) for n in [*read("us-given-names-female"), *read("us-given-names-male"), *male, *female]}
    given = faker_names(WORLD, GIVEN) | own("world-given-names")
    write_items("world-given-names", dict.fromkeys(n for n in given if fold(n) not in known), f"Given names elsewhere. {note}")
    known = {fold(n) for n in [*read("us-surnames"), *surnames]}
    family = faker_names(WORLD, SURNAMES) | own("world-surnames")
    write_items("world-surnames", dict.fromkeys(n for n in family if fold(n) not in known), f"Surnames elsewhere. {note}")


if __name__ == "__main__":
    main()
